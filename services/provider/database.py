"""The SQLite file of a provider, in write-ahead mode: everything that was answered survives a killed
process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from leakrange.store.sqlite_errors import raise_told

T = TypeVar("T")
METADATA = sa.MetaData()
deployments = sa.Table(
    "deployments",
    METADATA,
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("artifact", sa.Text, nullable=False),
    sa.Column("release", sa.Text, nullable=False),
    sa.Column("options", sa.Text, nullable=False, server_default="{}"),
    sqlite_with_rowid=False,
)
uploads = sa.Table(
    "uploads",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("upload", sa.Text, nullable=False),
    sa.Column("artifact", sa.Text, nullable=False),
    sa.Column("release", sa.Text, nullable=False),
    sa.Column("shape", sa.Text, nullable=False),
    sa.Column("given", sa.LargeBinary, nullable=False),
    sa.Column("decisions", sa.LargeBinary, nullable=False),
    sa.Column("inferred", sa.LargeBinary),
    sa.Column("scores", sa.LargeBinary),
    sa.UniqueConstraint("model", "upload"),
)
gallery = sa.Table(
    "gallery",
    METADATA,
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("basis", sa.Text, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Column("images", sa.Integer, nullable=False),
    sa.Column("mark", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)


class SQLite:
    """One connection to the file at ``path``, used in one thread; a missing folder is created. A full disk
    raises `StorageFull`, a damaged file `Unavailable`; both name the place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        url = sa.URL.create("sqlite", database=str(path))
        # An error must not quote what users have uploaded.
        self._engine = sa.create_engine(url, connect_args={"timeout": 10}, hide_parameters=True)
        sa.event.listen(self._engine, "connect", _prepare)
        sa.event.listen(self._engine, "handle_error", partial(raise_told, path))

    async def open(self) -> None:
        """Open the file and create its tables."""
        await self._run(lambda: self._path.parent.mkdir(parents=True, exist_ok=True))
        await self.do(_upgrade)

    async def close(self) -> None:
        """Close the file, after all work that was started before."""
        await self._run(self._engine.dispose)
        self._thread.shutdown()

    async def do(self, work: Callable[[sa.Connection], T]) -> T:
        """Run ``work(connection)`` in the thread of the connection, in one transaction."""

        def run() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        return await self._run(run)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _prepare(connection: Any, _record: Any) -> None:
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")


def _upgrade(connection: sa.Connection) -> None:
    """Create the tables, and bring a file of an earlier version up to date: its deployments had no options,
    and its uploads were vectors of which it kept the number of samples."""
    connection.exec_driver_sql("begin immediate")  # the driver begins none by itself before it alters tables
    METADATA.create_all(connection)
    columns = {
        t: {column["name"] for column in sa.inspect(connection).get_columns(t)} for t in METADATA.tables
    }
    if "options" not in columns["deployments"]:
        connection.exec_driver_sql("alter table deployments add column options text not null default '{}'")
    if "samples" in columns["uploads"]:
        for statement in (
            "alter table uploads add column shape text not null default ''",
            "update uploads set shape = samples || ' ' || (length(given) / 4 / samples)",
            "alter table uploads drop column samples",
        ):
            connection.exec_driver_sql(statement)
