"""The database of a provider: a SQLite file, or PostgreSQL for replicas. Everything that was answered
survives a killed process."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from leakrange.store.engine import Database
from leakrange.store.sqlite_errors import raise_told
from leakrange.wire.errors import Unavailable

__all__ = [
    "PostgreSQL",
    "SQLite",
    "StateDatabase",
    "deployments",
    "gallery",
    "generation",
    "replicas",
    "uploads",
    "upsert",
]

T = TypeVar("T")
CONNECTIONS = {"pool_size": 4, "max_overflow": 2}
"""Of one process to PostgreSQL: its server has to have room for those of all replicas."""
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
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
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


SHARED = sa.MetaData()
"""Tables that replicas need besides, see `replicas`."""
generation = sa.Table(
    "generation", SHARED, sa.Column("id", sa.Integer, primary_key=True), sa.Column("number", sa.BigInteger)
)
replicas = sa.Table(
    "replicas",
    SHARED,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("seen", sa.BigInteger, nullable=False),
    sa.Column("until", sa.DateTime(timezone=True), nullable=False),
)


TAKE_IN = postgresql.insert(uploads).on_conflict_do_nothing().returning(uploads.c.model, uploads.c.upload)
COLUMNS = ("model", "upload", "artifact", "release", "shape", "given", "decisions")
TAKE_IN_COLUMNS = f"""
insert into uploads ({", ".join(COLUMNS)})
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[])
on conflict do nothing returning model, upload
"""
"""The same for any number of uploads, which PostgreSQL prepares once."""


def upsert(table: sa.Table, row: Mapping[str, Any]) -> sa.Insert:
    """The statement that puts ``row`` in the place of the one with the same key; both databases take it."""
    insert = postgresql.insert(table).values(row)
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=dict(row))


class StateDatabase(ABC):
    """Where a provider keeps deployments, uploads and enrolled people."""

    @abstractmethod
    async def open(self) -> None:
        """Connect, and create the tables; several processes may do so at a time."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect, after all work that was started before."""

    @abstractmethod
    async def do(self, work: Callable[[sa.Connection], T]) -> T:
        """Run ``work(connection)`` in one transaction."""

    @abstractmethod
    async def take_in(self, rows: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
        """Store those rows of `uploads` that are new, all or none; returns their models and names. One caller
        at a time."""


class PostgreSQL(StateDatabase):
    """The schema ``provider_<name>`` of the database at ``url``, which all replicas of the provider share. A
    server that does not answer raises `DatabaseAway`."""

    def __init__(self, url: str, name: str) -> None:
        self.schema = f"provider_{name}"
        """Also the channel on which replicas tell each other of changes."""
        # An error must not quote what users have uploaded.
        settings = {"search_path": f'"{self.schema}"'}
        self._database = Database(
            url, hide_parameters=True, connect_args={"server_settings": settings}, **CONNECTIONS
        )
        self.engine = self._database.engine
        self._held: ContextVar[AsyncConnection | None] = ContextVar("held", default=None)
        self._kept: AsyncConnection | None = None
        self._keeping = AsyncExitStack()

    async def open(self) -> None:
        """See `StateDatabase.open`. Where the schema is there, the user need not be one who may create it.
        Raises `Unavailable` where the server does not let this user in."""

        def create(connection: sa.Connection) -> None:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(self.schema))))
            if self.schema not in sa.inspect(connection).get_schema_names():
                connection.execute(sa.schema.CreateSchema(self.schema))
            for tables in (METADATA, SHARED):
                tables.create_all(connection)
            first = postgresql.insert(generation).values(id=1, number=1)
            connection.execute(first.on_conflict_do_nothing())

        try:
            await self.do(create)
        except (sa.exc.SQLAlchemyError, asyncpg.PostgresError) as error:
            raise Unavailable(
                f"the database of this provider cannot be used: {error}",
                hint="LEAKRANGE_STATE_URL names it; 'python -m leakrange.store.migrate' makes its users",
            ) from error

    async def close(self) -> None:
        """See `StateDatabase.close`."""
        await self._keeping.aclose()
        await self._database.close()

    async def take_in(self, rows: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
        """See `StateDatabase.take_in`. Users wait for this, so it is one statement on a connection that is
        kept for it: a transaction on one of the pool would ask the server four times."""
        columns = tuple([row[name] for row in rows] for name in COLUMNS)

        def insert(connection: sa.Connection) -> set[tuple[str, str]]:
            new = {(model, upload) for model, upload in connection.exec_driver_sql(TAKE_IN_COLUMNS, columns)}
            connection.commit()  # SQLAlchemy's own transaction, of which the server knows nothing
            return new

        connection = await self._connection()
        try:
            return await connection.run_sync(insert)
        except BaseException:
            self._kept = None  # it may be in the middle of anything
            raise

    async def _connection(self) -> AsyncConnection:
        """The kept connection; another if that one broke or the server closed it."""
        if self._kept is not None:
            driver: Any = (await self._kept.get_raw_connection()).driver_connection
            if not driver.is_closed():
                return self._kept
        self._kept = None
        await self._keeping.aclose()
        self._kept = await self._keeping.enter_async_context(self._database.statements())
        return self._kept

    async def do(self, work: Callable[[sa.Connection], T]) -> T:
        """See `StateDatabase.do`: inside `transaction`, in that one."""
        held = self._held.get()
        if held is not None:
            return await held.run_sync(work)
        async with self._database.begin() as connection:
            return await connection.run_sync(work)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Everything that this task does inside the ``async with`` block is one transaction."""
        async with self._database.begin() as connection:
            mark = self._held.set(connection)
            try:
                yield
            finally:
                self._held.reset(mark)


class SQLite(StateDatabase):
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
        """See `StateDatabase.open`."""
        await self._run(lambda: self._path.parent.mkdir(parents=True, exist_ok=True))
        await self.do(_upgrade)

    async def close(self) -> None:
        """See `StateDatabase.close`."""
        await self._run(self._engine.dispose)
        self._thread.shutdown()

    async def do(self, work: Callable[[sa.Connection], T]) -> T:
        """See `StateDatabase.do`: in the thread of the connection."""

        def run() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        return await self._run(run)

    async def take_in(self, rows: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
        """See `StateDatabase.take_in`."""
        return await self.do(lambda c: {tuple(row) for row in c.execute(TAKE_IN, list(rows))})

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
