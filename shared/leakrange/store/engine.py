"""Connections to the controller's database: SQLite (WAL) or PostgreSQL, under one set of rules.

SQLite lets a transaction begin as a reader and fails it at once, without waiting, when it turns writer
after somebody else has written. So transactions that write say so from the start (`Database.write`, ``BEGIN
IMMEDIATE``) and queue up; readers never wait.

A full disk and a damaged file raise errors of `leakrange.wire.errors`, which name the place. A PostgreSQL
server that does not answer raises `DatabaseAway`: what was asked may or may not have been done.

A task that is cancelled in the middle of a transaction ends it first. A statement that is given up half-way
would leave its SQLite connection open, with the lock on the database, until the garbage collector closes it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson
from sqlalchemy import Connection, ExceptionContext, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine

from leakrange.store.sqlite_errors import raise_told
from leakrange.wire.errors import StorageFull, Unavailable

__all__ = ["Database", "DatabaseAway", "DatabaseBusy", "create_engine"]

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
BUSY_TIMEOUT_MS = 30_000
DISK_FULL = "53100"
"""PostgreSQL's error code for a full disk."""
NOT_NOW = ("57P01", "57P02", "57P03", "08001", "08003", "08006")
"""PostgreSQL's error codes of a server that shuts down, has crashed, or is only starting, and the driver's of
a connection that was cut while it was made or used."""
WAIT_FOR = 3.0
"""Seconds for which a server that does not answer is asked again, before it is `DatabaseAway`."""
T = TypeVar("T")


class DatabaseAway(Unavailable):
    """The database server does not answer, or went away in the middle of a transaction."""

    slug, title = "database-away", "The database does not answer"

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            f"the database server does not answer: {str(error).strip() or type(error).__name__}",
            hint="start it again; runs in progress wait for it and go on",
            retry_after=1.0,
        )


class DatabaseBusy(DatabaseAway):
    """All connections to the database are taken, and none became free in time."""

    slug, title = "database-busy", "The database is busy"

    def __init__(self) -> None:
        Unavailable.__init__(
            self, "too many questions wait for the database", hint="ask again", retry_after=1.0
        )


def _dumps(value: Any) -> str:
    # orjson writes NaN and infinities as null: PostgreSQL refuses them in JSON, and SQLite would keep them
    # silently.
    return orjson.dumps(value).decode()


def create_engine(url: str, **options: Any) -> AsyncEngine:
    """An engine for ``sqlite:///path`` or ``postgresql://…``, with or without the asynchronous driver's name.

    SQLite: write-ahead log, foreign keys enforced, writers wait up to 30 s for each other. PostgreSQL: a
    pool that checks its connections before use. ``options`` are those of SQLAlchemy's engine. Raises
    `ValueError` for any other database.
    """
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend not in DRIVERS and parsed.drivername not in DRIVERS:
        raise ValueError(f"database {parsed.drivername!r} is not supported: use sqlite or postgresql")
    if "+" not in parsed.drivername:
        parsed = parsed.set(drivername=DRIVERS[parsed.drivername])
    if parsed.get_backend_name() == "postgresql":
        pool = {"pool_size": 10, "max_overflow": 10, "pool_pre_ping": True}
        engine = create_async_engine(
            parsed, json_serializer=_dumps, json_deserializer=orjson.loads, **pool | options
        )
        event.listen(engine.sync_engine, "handle_error", _told_by_postgresql)
        return engine
    engine = create_async_engine(parsed, json_serializer=_dumps, json_deserializer=orjson.loads, **options)
    event.listen(engine.sync_engine, "handle_error", partial(raise_told, Path(parsed.database or "")))
    event.listen(engine.sync_engine, "do_connect", _open_sqlite)
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _told_by_postgresql(context: ExceptionContext) -> None:
    error = context.original_exception
    code = getattr(error, "sqlstate", None)
    if code == DISK_FULL:
        raise StorageFull(f"the disk of the database server is full: {error}")
    # A cancellation ends the connection, too, and stays one.
    if isinstance(error, Exception) and (context.is_disconnect or code in NOT_NOW):
        raise DatabaseAway(error)


def _away(error: Exception) -> bool:
    """Return whether a connection failed because the server is not there: each driver has its own words for
    that."""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated
    return isinstance(error, OSError | DatabaseAway) or getattr(error, "sqlstate", None) in NOT_NOW


def _open_sqlite(dialect: Any, _record: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    async def opened(*arguments: Any, **options: Any) -> Any:
        connection: Any = dialect.loaded_dbapi.aiosqlite.connect(*arguments, **options)
        connection._thread.daemon = True  # as SQLAlchemy has it: a forgotten connection ends with the process
        connection._execute = partial(_finished, connection._execute)  # all it does goes through this
        connection._connect = partial(_finished, connection._connect)
        return await connection

    return dialect.loaded_dbapi.connect(*arguments, **options, async_creator_fn=opened)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own: `_begin_sqlite` does
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "synchronous=NORMAL",  # with WAL: no corruption on power loss, and a killed process loses nothing
        "foreign_keys=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(connection, cursor)
    cursor.close()


def _write_ahead(connection: Any, cursor: Any) -> None:
    """Turn the write-ahead log on. If several processes open a new file at a time, SQLite at once refuses all
    but one, whatever the ``busy_timeout``: each holds a lock that another would wait for."""
    give_up = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
        connection.run_async(lambda _: asyncio.sleep(0.01))


async def _finished(begin: Callable[..., Coroutine[Any, Any, T]], *given: Any, **named: Any) -> T:
    """Return the result of ``begin(...)``; a cancellation in the meantime takes effect only afterwards."""
    work, caller, cancelled = asyncio.ensure_future(begin(*given, **named)), asyncio.current_task(), 0
    assert caller is not None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            caller.uncancel()
            cancelled += 1
    for _ in range(cancelled):
        caller.cancel()
    return work.result()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("leakrange_writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")


class Database:
    """Sessions on one engine: ``async with database.write() as session`` commits at the end, or rolls back
    on an error."""

    def __init__(self, url: str, **options: Any) -> None:
        self.engine = create_engine(url, **options)
        self._reader = self.engine.execution_options(leakrange_writes=False)
        self._alone = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        # SQLite has no queue: a waiting writer tries now and then, and may never win on a busy machine.
        sqlite = self.engine.dialect.name == "sqlite"
        self._turn: AbstractAsyncContextManager[Any] = asyncio.Lock() if sqlite else nullcontext()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """Open a connection in one transaction: `write` without the cost of a session."""
        async with self._turn, self._connected(self.engine) as connection, connection.begin():
            yield connection
        await asyncio.sleep(0)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """Open a session in one transaction that may write. Keep it short: on SQLite other writers wait for
        it."""
        async with (
            self._turn,
            self._connected(self.engine) as connection,
            AsyncSession(connection, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session
        await asyncio.sleep(0)  # a cancellation that was put off takes effect here

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """Open a session that only reads, from one consistent snapshot on SQLite."""
        async with (
            self._connected(self._reader) as connection,
            AsyncSession(connection, expire_on_commit=False) as session,
        ):
            yield session
        await asyncio.sleep(0)

    @asynccontextmanager
    async def statements(self) -> AsyncIterator[AsyncConnection]:
        """Open a connection to PostgreSQL on which each statement is a transaction of its own."""
        async with self._connected(self._alone) as connection:
            yield connection

    @asynccontextmanager
    async def _connected(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        """Open a working connection; waits a short while for a server that restarts."""
        give_up = time.monotonic() + WAIT_FOR
        async with AsyncExitStack() as stack:
            while True:
                try:
                    connection = await stack.enter_async_context(engine.connect())
                    break
                except PoolTimeout as error:
                    raise DatabaseBusy from error
                except Exception as error:
                    if not _away(error):
                        raise
                    if time.monotonic() > give_up:
                        raise DatabaseAway(error) from error
                await asyncio.sleep(0.1)
            yield connection

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()
