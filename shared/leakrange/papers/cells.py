"""Measured cells: one file for each paper, beside the models that they were measured on.

A cell is named by everything that decides it, with the versions of its trainers and attacks, and it records
which of its metrics have a later version than the first. So a reproduction that is interrupted, extended or
repeated measures only what is new, and shows no figure that today's code would not give but those that it
marks (see `leakrange.papers.earlier`). The files of ``docs/results`` are such files: copied into a store,
they count as measured there.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from leakrange.metrics import described
from leakrange.wire.digests import digest
from leakrange.wire.disk import room_in
from leakrange.wire.errors import InvalidArtifact

__all__ = ["Cell", "Cells", "figures_of", "mean_text"]

Cell = dict[str, Any]
"""Figures by name: shares in [0, 1], bits, seconds; and the device that they were measured on."""


def figures_of(cells: Iterable[Cell], name: str) -> list[float]:
    """The figure of that name in each of the cells that have it."""
    return [cell[name] for cell in cells if name in cell]


def mean_text(cells: Iterable[Cell], name: str, decimals: int = 3, scale: float = 1.0) -> str:
    """The mean of a figure times ``scale``, for a page; a dash where no cell has it."""
    figures = figures_of(cells, name)
    return f"{scale * sum(figures) / len(figures):.{decimals}f}" if figures else "–"


class Cells:
    """The cells of the store at ``root``, which several processes may share: ``<paper>.json``, where a cell's
    identity is a list that begins with the paper's name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, identity: list[Any]) -> Cell | None:
        """The cell of an identity (JSON values). None where it was not measured yet, or with another version
        of one of its metrics. Raises `InvalidArtifact` for a file that is damaged."""
        entry = _entries(self._file(identity)).get(digest(identity))
        return entry["cell"] if entry and entry.get("metrics", {}) == _raised(entry["cell"]) else None

    def put(self, identity: list[Any], cell: Cell) -> None:
        """Store a cell: whole, or not at all."""
        file = self._file(identity)
        with room_in(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            with file.with_suffix(".lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                versions = _raised(cell)
                entry = {"identity": identity, "cell": cell} | ({"metrics": versions} if versions else {})
                entries = _entries(file) | {digest(identity): entry}
                new = file.with_suffix(".new")
                new.write_bytes(_lines(entries))
                new.replace(file)

    def _file(self, identity: list[Any]) -> Path:
        return self.root / f"{identity[0]}.json"


def _raised(cell: Cell) -> dict[str, int]:
    """The versions above 1 of the metrics that a cell holds."""
    declared = {name: described(name).version for name in cell}
    return {name: version for name, version in declared.items() if version > 1}


def _lines(entries: dict[str, Any]) -> bytes:
    """A line for each cell, in the order of their names, so that an added cell changes one line of the
    file."""
    lines = (orjson.dumps(entries[name], option=orjson.OPT_SORT_KEYS) for name in sorted(entries))
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def _entries(file: Path) -> dict[str, Any]:
    """All cells of a file by the digest of their identity."""
    try:
        state = file.stat()
    except FileNotFoundError:
        return {}
    return _read(file, state.st_mtime_ns, state.st_size, state.st_ino)


@lru_cache(maxsize=8)
def _read(file: Path, _changed: int, _size: int, _inode: int) -> dict[str, Any]:
    try:
        return {digest(entry["identity"]): entry for entry in orjson.loads(file.read_bytes())}
    except (orjson.JSONDecodeError, KeyError, TypeError) as e:
        raise InvalidArtifact(
            f"{file} holds no cells: {e}",
            hint="delete it to measure them again, or copy it from docs/results",
        ) from e
