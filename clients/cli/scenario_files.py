"""Reading scenario files, and writing their mistakes so that an editor can jump to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from leakrange.clients.cli.exits import CliError, Exit

__all__ = ["mistake_lines", "read_scenario"]


def read_scenario(path: Path) -> bytes:
    """Return the file's bytes; raises `CliError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CliError(f"{path}: {error.strerror}", code=Exit.USAGE) from error


def mistake_lines(path: Path, mistakes: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return each mistake as ``file:line:column: message``; those without a place name their field
    instead."""
    return tuple(_line(path, mistake) for mistake in mistakes)


def _line(path: Path, mistake: Mapping[str, Any]) -> str:
    place = str(path)
    if line := mistake.get("line"):
        place += f":{line}:{mistake.get('column') or 1}"
    field = str(mistake.get("path") or "")
    message = str(mistake.get("message", "cannot be taken"))
    return f"{place}: {field}: {message}" if field and field not in message else f"{place}: {message}"
