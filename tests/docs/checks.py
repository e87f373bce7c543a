"""What a command of the documentation must pass that takes too long to run in a test, or needs a cluster, a
container engine or real data: its words must be those that the program takes.
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from typing import Any
from unittest import mock

import pytest
import yaml
from pydantic import SecretStr
from typer.core import TyperGroup
from typer.main import get_command

from leakrange.clients.cli.main import app
from leakrange.services.controller.main import controller
from leakrange.services.controller.settings import ControllerSettings
from tests.docs.blocks import ROOT
from tests.federation import flower

__all__ = ["PROGRAMS", "check", "exists"]


class Parsed(Exception):
    """The program has taken its words, and would begin now."""


def _named(words: list[str]) -> tuple[Any, list[str]]:
    """The command of `leakrange` that words begin with, and the words that follow."""
    command: Any = get_command(app)
    while isinstance(command, TyperGroup) and words:
        assert words[0] in command.commands, words
        command, words = command.commands[words[0]], words[1:]
    return command, words


def exists(words: list[str]) -> None:
    """The command and its options exist; arguments may be missing."""
    command, words = _named(words)
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    missing = {word for word in words if word.startswith("--")} - known
    assert not missing, missing


def _leakrange(words: list[str]) -> None:
    """The command takes its arguments and options; scenarios that it names are there."""
    command, words = _named(words)
    command.make_context(command.name, list(words), parent=None)
    for path in words:
        assert not path.startswith("scenarios/") or (ROOT / path).exists(), path


def _make(words: list[str]) -> None:
    done = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _python(words: list[str]) -> None:
    """A module's own parser takes its options; a file is there."""
    if words[0] != "-m":
        assert (ROOT / words[0]).exists(), words
        return
    module, given = words[1], words[2:]
    if module == "leakrange.services.federation":
        _federation(given)
        return
    parse = argparse.ArgumentParser.parse_args

    def only_parse(parser: argparse.ArgumentParser, *_: object) -> None:
        parse(parser, given)
        raise Parsed

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", only_parse),
        mock.patch.dict(sys.modules),
    ):
        sys.modules.pop(module, None)  # another test may have imported it
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=False)
        except Parsed:
            return
    raise AssertionError(f"{module} does not read its arguments")


FEDERATION_HELP = """
import runpy, sys
for command in ("run", "superlink", "supernode", "enrol"):
    sys.argv = ["leakrange.services.federation", command, "--help"]
    try:
        runpy.run_module("leakrange.services.federation", run_name="__main__")
    except SystemExit:
        print("\\f")
"""


@cache
def _federation_helps() -> dict[str, str]:
    """What each command says of itself, from one process: Flower is in an environment of its own."""
    done = subprocess.run(
        [str(flower.python()), "-c", FEDERATION_HELP], cwd=ROOT, capture_output=True, text=True
    )
    return dict(zip(("run", "superlink", "supernode", "enrol"), done.stdout.split("\f"), strict=False))


def _federation(given: list[str]) -> None:
    if not flower.python().exists():
        pytest.skip(f"no {flower.python()}: make federation-env, or set LEAKRANGE_FEDERATION_PYTHON")
    for option in (word for word in given if word.startswith("--")):
        assert option in _federation_helps()[given[0]], option


def _docker(words: list[str]) -> None:
    """Services, profiles and files exist; the engine itself is not asked."""
    assert words[0] == "compose", words
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services = compose["services"]
    profiles = {profile for each in services.values() for profile in each.get("profiles", ())}
    verbs = {"up", "down", "build", "run", "logs", "ps", "exec"}
    takes = {"--scale", "--profile", "-f", "--index"}
    flags = {"--build", "--wait", "--rm", "-T", "-v", "-d"}
    rest, verb = iter(words[1:]), ""
    for word in rest:
        if word in takes:
            value = next(rest)
            if word == "--profile":
                assert value in profiles, value
            elif word == "--scale":
                assert value.partition("=")[0] in services, value
            elif word == "-f":
                assert (ROOT / value).exists(), value
        elif word.startswith("-"):
            assert word in flags, word
        elif not verb:
            assert word in verbs, word
            verb = word
        else:
            assert word in services, word
            if verb == "exec":
                check(list(rest))
    assert verb, words


def _kubectl(words: list[str]) -> None:
    """Folders to apply and services to forward are there; `tests/infra` renders the manifests."""
    if "-k" in words:
        assert (ROOT / words[words.index("-k") + 1] / "kustomization.yaml").exists(), words
    for word in words:
        if word.startswith("service/"):
            texts = (path.read_text() for path in (ROOT / "infra" / "kubernetes").rglob("*.yaml"))
            found = (each for text in texts for each in yaml.safe_load_all(text) if isinstance(each, dict))
            named = {each["metadata"]["name"] for each in found if each.get("kind") == "Service"}
            assert word.removeprefix("service/") in named, word
    assert {"apply", "wait", "port-forward", "get", "logs"}.intersection(words), words


def _pip(words: list[str]) -> None:
    """Extras exist."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for wanted in re.findall(r"\[([\w,-]+)\]", " ".join(words)):
        assert set(wanted.split(",")) <= set(extras), wanted


@cache
def _paths() -> dict[str, dict[str, Any]]:
    secret = SecretStr("a key that opens nothing and is for documents")
    settings = ControllerSettings(operator_key=secret, fleet_secret=secret, providers={})
    paths: dict[str, dict[str, Any]] = controller(settings).openapi()["paths"]
    return paths


def _curl(words: list[str]) -> None:
    """The controller has the endpoint, and a body in JSON can be read."""
    [url] = [word for word in words if word.startswith("http://127.0.0.1:8700/")]
    sends = "-d" in words
    if sends:
        json.loads(words[words.index("-d") + 1])
    path = url.removeprefix("http://127.0.0.1:8700").partition("?")[0]
    assert ("post" if sends else "get") in _paths().get(path, {}), url


def _anything(_: list[str]) -> None:
    """Commands of the system, which have nothing to do with us."""


PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "leakrange": _leakrange,
    "make": _make,
    "python": _python,
    ".venv-federation/bin/python": _python,
    "docker": _docker,
    "curl": _curl,
    "kubectl": _kubectl,
    "pip": _pip,
    **dict.fromkeys((".", "apt-get", "cat", "cp", "export", "grep", "mkdir", "python3"), _anything),
}


def check(words: list[str]) -> None:
    """Raise where a command would be refused."""
    assert words[0] in PROGRAMS, f"nobody checks {words[0]!r}: run it in tests/docs/test_examples.py"
    argv = sys.argv
    try:
        PROGRAMS[words[0]](words[1:])
    except (SystemExit, Exception) as error:  # whatever a program raises
        raise AssertionError(f"{' '.join(words)}: {error!r}") from error
    finally:
        sys.argv = argv
