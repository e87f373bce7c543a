"""Translates errors of SQLite: the disk is full, or the file is damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

from leakrange.wire.disk import storage_full
from leakrange.wire.errors import LeakrangeError, Unavailable

__all__ = ["damaged_database", "told"]

DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")
LEAST = 64 * 2**10
"""Bytes without which an error of reading or writing is one of a full disk: SQLite does not always say so."""


def told(error: BaseException, path: Path) -> LeakrangeError | None:
    """What ``error`` of the database file at ``path`` means for who runs it; None for any other error."""
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(DAMAGED):
        return damaged_database(path, str(error))
    folder = path.absolute().parent
    if name == "SQLITE_FULL" or (name.startswith(NO_ROOM) and shutil.disk_usage(folder).free < LEAST):
        return storage_full(folder)
    return None


def damaged_database(path: Path, reason: str) -> LeakrangeError:
    """The error of a file that SQLite cannot read. It is left where it is: nothing else has what it held."""
    return Unavailable(
        f"the database {path} is damaged: {reason}",
        hint=f"stop the range, put a copy in its place or move it away (with {path.name}-wal and -shm, if"
        " there), and start again; without a copy what it held is forgotten, models and releases are kept",
    )
