"""Measured cells, one JSON file each beside the models they were measured on.

A cell is named by all that decides it, the code that trains and measures among it, so that a reproduction
that is interrupted, extended or repeated measures only what is new.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from leakrange.store.files import FolderStore
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidArtifact

__all__ = ["Cell", "Cells"]

Cell = dict[str, Any]
"""Figures by name: shares in [0, 1], bits, seconds; and what they were measured on."""


class Cells:
    """The cells of the store at ``root``, below ``cells/``: a folder for each identity, and in it a file
    for each version of the code that made it."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "cells"
        self._files = FolderStore(self.folder)

    def get(self, identity: Any, code: str, *, any_code: bool = False) -> Cell | None:
        """The cell of an identity (any JSON value) as that version of the code gave it, or None where it
        was not measured yet; with ``any_code``, rather the latest of another version than none. Its ``code``
        is the version that gave it."""
        folder = self.folder / digest(identity)
        found = folder / f"{code}.json"
        if not found.is_file():
            others = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime) if any_code else []
            if not others:
                return None
            found = others[-1]
        try:
            cell = orjson.loads(found.read_bytes())
        except orjson.JSONDecodeError as e:
            raise InvalidArtifact(f"{found} is damaged: {e}", hint="delete it to measure it again") from e
        if not isinstance(cell, dict):
            raise InvalidArtifact(f"{found} holds no cell", hint="delete it to measure it again")
        return cell | {"code": found.stem}

    def put(self, identity: Any, code: str, cell: Cell) -> None:
        """Keep a cell: whole, or not at all."""
        content = orjson.dumps(cell, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        self._files.put(f"{digest(identity)}/{code}.json", content)
