"""Files that commands read and write, and mistakes of scenarios so that an editor can jump to them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
import yaml

from leakrange.clients.cli.console import print_json
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.wire.disk import room_in
from leakrange.wire.errors import InvalidScenario

__all__ = ["mistakes_named", "read_file", "read_scenario", "settings_of", "write_file", "write_pieces"]


def read_file(path: Path) -> bytes:
    """Return the file's bytes; raises `CliError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CliError(f"{path}: {error.strerror}", code=Exit.USAGE) from error


def read_scenario(path: Path) -> bytes:
    """Return the file of a scenario, with the content of each target's file in the place of its name, on the
    same line: so mistakes are still told by their lines. The name of a ready scenario does where no file has
    it. Raises `CliError` for what is neither.

    A text that is no scenario is returned as it is, for its reader to say what is wrong.
    """
    if not path.suffix and not path.exists():
        return _ready(str(path))
    content = read_file(path)
    if b"endpoint" not in content:
        return content
    try:
        text = content.decode()
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (UnicodeDecodeError, yaml.YAMLError):
        return content
    for node in reversed(list(_endpoints(root))):
        target = path.parent / node.value
        mark = node.start_mark
        try:
            given = yaml.safe_load(target.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            place = f"{path}:{mark.line + 1}:{mark.column + 1}"
            raise CliError(
                f"{place}: the target {target} cannot be read: {error}", code=Exit.USAGE
            ) from error
        text = text[: mark.index] + json.dumps(given, default=str) + text[node.end_mark.index :]
    return text.encode()


def _ready(name: str) -> bytes:
    """The text of the ready scenario of that name. Raises `CliError`."""
    from leakrange.scenario.shipped import shipped

    if name not in shipped():
        near = difflib.get_close_matches(name, shipped(), n=1)
        raise CliError(
            f"{name}: there is no such file, and no ready scenario of that name",
            code=Exit.USAGE,
            hint=f"did you mean {near[0]!r}?" if near else "'leakrange scenario list' names the ready ones",
        )
    return shipped()[name].text.encode()


def _endpoints(root: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """The values of ``endpoint`` of all providers that name a file."""
    for provider in _members(_members(root).get("providers")).values():
        value = _members(provider).get("endpoint")
        if isinstance(value, yaml.ScalarNode) and value.tag == "tag:yaml.org,2002:str":
            yield value


def _members(node: yaml.Node | None) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def write_file(path: Path, content: str | bytes) -> None:
    """Write a result, into a folder that is made if it is missing. Raises `StorageFull` or `OSError`."""
    with room_in(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a result of any length as it comes; where it breaks off, there is no file. Raises as `write_file`
    does, and what ``pieces`` raises."""
    begun = path.with_name(f".{path.name}.part")
    with room_in(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with begun.open("wb") as file:
                file.writelines(pieces)
            begun.replace(path)
        finally:
            begun.unlink(missing_ok=True)


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
