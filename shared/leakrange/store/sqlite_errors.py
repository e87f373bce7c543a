"""Translates errors of SQLite: the disk is full, or the file is damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlalchemy import ExceptionContext

from leakrange.wire.disk import storage_full
from leakrange.wire.errors import Unavailable

__all__ = ["raise_told"]

DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")
LEAST = 64 * 2**10
"""With fewer free bytes, an error of reading or writing means a full disk: SQLite does not always say so."""


def raise_told(path: Path, context: ExceptionContext) -> None:
    """Handle SQLAlchemy's ``handle_error`` event for the database file at ``path``: raises `StorageFull` for
    a full disk, and `Unavailable` for a damaged file; any other error passes."""
    error = context.original_exception
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(DAMAGED):
        raise _damaged(path, str(error)) from error
    folder = path.absolute().parent
    if name == "SQLITE_FULL" or (name.startswith(NO_ROOM) and shutil.disk_usage(folder).free < LEAST):
        raise storage_full(folder) from error


def _damaged(path: Path, reason: str) -> Unavailable:
    """Return the error for a file that SQLite cannot read. The file stays, since nothing else has its
    content."""
    return Unavailable(
        f"the database {path} is damaged: {reason}",
        hint=f"stop the range, put a copy in its place or move it away (with {path.name}-wal and -shm, if"
        " there), and start again; without a copy what it held is forgotten, models and releases are kept",
    )
