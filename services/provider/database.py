"""The SQLite file of a provider, in write-ahead mode: what was answered survives a killed process."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from leakrange.store.sqlite_errors import told

__all__ = ["SQLite"]

T = TypeVar("T")
SCHEMA = """
create table if not exists deployments (
    model text primary key, artifact text not null, release text not null, options text not null default '{}'
) without rowid;
create table if not exists uploads (
    number integer primary key, model text not null, upload text not null, artifact text not null,
    release text not null, shape text not null, given blob not null, decisions blob not null,
    inferred blob, scores blob,
    unique (model, upload)
);
create table if not exists gallery (
    model text not null, person text not null, basis text not null, vector blob not null,
    images integer not null, mark blob not null,
    primary key (model, person)
) without rowid;
"""


class SQLite:
    """One connection to the file at ``path``, used in one thread; the folder is made where it is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Open the file and make its tables."""

        def connect() -> None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, isolation_level=None, timeout=10)
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            connection.executescript(SCHEMA)
            _upgrade(connection)
            self._connection = connection

        await self._run(connect)

    async def close(self) -> None:
        """Close the file, after everything that was asked before."""
        await self.do(lambda connection: connection.close())
        self._thread.shutdown()

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """``work(connection)`` in the thread of the connection."""

        def run() -> T:
            assert self._connection is not None
            return work(self._connection)

        return await self._run(run)

    async def _run(self, work: Callable[[], T]) -> T:
        """``work()`` in the thread of the connection. Raises `StorageFull`, and `Unavailable` for a damaged
        file, which both name the place."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.Error as error:
            if (clear := told(error, self._path)) is None:
                raise
            raise clear from error


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file of an earlier version up to date: its deployments had no options, its uploads were vectors
    of which it kept the number of samples."""
    columns = {row[1] for row in connection.execute("pragma table_info(deployments)")}
    if "options" not in columns:
        connection.execute("alter table deployments add column options text not null default '{}'")
    columns = {row[1] for row in connection.execute("pragma table_info(uploads)")}
    if "samples" in columns:
        connection.executescript(
            """
            begin;
            alter table uploads add column shape text not null default '';
            update uploads set shape = samples || ' ' || (length(given) / 4 / samples);
            alter table uploads drop column samples;
            commit;
            """
        )
