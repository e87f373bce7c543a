"""Files that commands read and write, and mistakes of scenarios so that an editor can jump to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from leakrange.clients.cli.console import print_json
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.wire.disk import room_in
from leakrange.wire.errors import InvalidScenario

__all__ = ["mistakes_named", "read_file", "settings_of", "write_file"]


def read_file(path: Path) -> bytes:
    """Return the file's bytes; raises `CliError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CliError(f"{path}: {error.strerror}", code=Exit.USAGE) from error


def write_file(path: Path, text: str) -> None:
    """Write a result, into a folder that is made if it is missing. Raises `StorageFull` or `OSError`."""
    with room_in(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def settings_of(given: Iterable[str]) -> dict[str, str]:
    """Return the values of a repeated option ``--set NAME=VALUE`` by name; raises `CliError`."""
    settings = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise CliError(f"--set {each}: write NAME=VALUE", code=Exit.USAGE)
        settings[name] = value
    return settings


@contextmanager
def mistakes_named(path: Path, *, as_json: bool = False) -> Iterator[None]:
    """Turn the `InvalidScenario` of a file into a `CliError`, with a line ``file:line:column: message`` for
    each mistake; those without a place name their field instead. ``as_json``: print them as JSON instead."""
    try:
        yield
    except InvalidScenario as error:
        mistakes = error.extra.get("mistakes", [])
        if as_json:
            print_json({"valid": False, "mistakes": mistakes})
            raise typer.Exit(Exit.USAGE) from error
        lines = tuple(_line(path, mistake) for mistake in mistakes)
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint, lines=lines) from error


def _line(path: Path, mistake: Mapping[str, Any]) -> str:
    place = str(path)
    if line := mistake.get("line"):
        place += f":{line}:{mistake.get('column') or 1}"
    field = str(mistake.get("path") or "")
    message = str(mistake.get("message", "cannot be taken"))
    return f"{place}: {field}: {message}" if field and field not in message else f"{place}: {message}"
