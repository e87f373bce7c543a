"""Replicas of one provider: how they agree, over PostgreSQL, on what is served.

Each replica has a row with a lease, which it renews several times within `ProviderSettings.replica_lease` and
which says up to which change it has followed. Who changes something waits, once it is stored, until every
replica whose lease holds has followed; rows whose lease is over are deleted. A replica whose lease is over,
or whose row is gone, answers nobody until it has reached the database again and followed. So nobody gets what
was served before a change after that change was answered, whichever replica was slow, cut off or killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from leakrange.services.provider.database import PostgreSQL, generation, replicas
from leakrange.services.provider.generation import Follow, Generation
from leakrange.wire.errors import LeakrangeError, Unavailable

__all__ = ["ReplicaGeneration"]

log = structlog.get_logger("leakrange.services.provider.replicas")
RENEWALS = 5
"""Renewals within a lease."""
PAUSE = 0.01
"""Seconds between two looks at who has followed."""
NUMBER = sa.select(generation.c.number)


class ReplicaGeneration(Generation):
    """The number in a table of the database. A change is one transaction, so that the number grows with what
    it counts; a notification tells the others at once, and each renewal of a lease tells what that missed."""

    def __init__(self, database: PostgreSQL, lease: float) -> None:
        """``lease``: seconds."""
        self._database, self._lease = database, lease
        self._me = uuid4().hex
        self._mine = asyncio.Lock()
        self._now = self._seen = 0
        self._until = 0.0
        """Time, by `time.monotonic`, at which the lease ends."""
        self._wake = asyncio.Event()
        self._locked = self._begun = False
        self._written: int | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self, follow: Follow) -> None:
        """See `Generation.open`."""
        line = await self._connected()
        await self._renew(line)
        self._task = asyncio.create_task(self._keep(line, follow))
        while self.stale:
            with contextlib.suppress(Unavailable):  # a start on a busy machine may outlast a lease
                await follow()
            await asyncio.sleep(PAUSE)

    async def close(self) -> None:
        """See `Generation.close`: nobody waits for this replica any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._until = 0.0
        with contextlib.suppress(LeakrangeError):
            await self._database.do(lambda c: c.execute(sa.delete(replicas).where(replicas.c.id == self._me)))

    @property
    def stale(self) -> bool:
        """See `Generation.stale`."""
        return self._now != self._seen or time.monotonic() > self._until

    async def settled(self) -> int:
        """See `Generation.settled`."""
        if time.monotonic() > self._until:
            raise Unavailable(
                f"this replica has not reached its database for {self._lease:g} s: what it serves may be old",
                hint="another replica may answer; this one goes on once the database does",
            )
        return self._now

    def followed(self, number: int) -> None:
        """See `Generation.followed`."""
        self._seen = number
        self._wake.set()

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """See `Generation.changing`."""
        async with self._mine:
            self._written, self._locked, self._begun = None, True, False
            try:
                async with self._database.transaction():
                    self._now = await self._database.do(lambda c: c.scalars(NUMBER.with_for_update()).one())
                    yield
            except BaseException:
                if self._begun:
                    self._seen = -1  # what is in memory may not have been stored
                raise
            finally:
                self._locked = False
                written = self._written
            if written is not None:
                self._now = self._seen = written
                self._wake.set()
        if written is not None:
            await self._all_have(written)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """See `Generation.writing`."""
        self._begun = True
        yield
        more = sa.update(generation).values(number=generation.c.number + 1).returning(generation.c.number)

        def count(connection: sa.Connection) -> int:
            connection.execute(sa.select(sa.func.pg_notify(self._database.schema, "")))
            number: int = connection.scalars(more).one()
            return number

        self._written = await self._database.do(count)

    async def _all_have(self, number: int) -> None:
        """Wait until every other replica whose lease holds has followed up to ``number``."""
        over = sa.delete(replicas).where(replicas.c.until < sa.func.clock_timestamp())
        behind = sa.select(replicas.c.id).where(replicas.c.seen < number, replicas.c.id != self._me).limit(1)
        while await self._database.do(lambda c: c.execute(behind).first()) is not None:
            await asyncio.sleep(PAUSE)
            await self._database.do(lambda c: c.execute(over))

    async def _keep(self, line: AsyncConnection | None, follow: Follow) -> None:
        """Renew the lease, and follow the others, as long as this replica lives."""
        while True:
            self._wake.clear()
            try:
                async with asyncio.timeout(self._lease):
                    line = line or await self._connected()
                    await self._renew(line)
            except Exception as error:  # whatever it is, the lease tells whether this replica may answer
                log.warning("the database was not reached", reason=str(error))
                await _end(line)
                line = None
            else:
                if self.stale:
                    with contextlib.suppress(LeakrangeError):  # it is tried again
                        await follow()
                    continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._lease / RENEWALS)

    async def _connected(self) -> AsyncConnection:
        """A connection that hears of the others' changes."""
        line = await self._database.engine.connect()
        await line.execution_options(isolation_level="AUTOCOMMIT")
        driver: Any = (await line.get_raw_connection()).driver_connection
        await driver.add_listener(self._database.schema, lambda *_: self._wake.set())
        return line

    async def _renew(self, line: AsyncConnection) -> None:
        """Renew the lease, or begin one, and learn the number.

        A row that is gone is never brought back by the same statement: whoever deleted it no longer waits for
        this replica, which a statement that began before cannot know.
        """
        began, seen = time.monotonic(), self._seen
        row = {"seen": seen, "until": sa.func.clock_timestamp() + timedelta(seconds=self._lease)}
        mine = sa.update(replicas).where(replicas.c.id == self._me).values(row)
        number = await line.scalar(mine.returning(NUMBER.scalar_subquery()))
        if number is None:
            await line.execute(sa.insert(replicas).values(id=self._me, **row | {"seen": -1}))
            self._seen, number = -1, await line.scalar(NUMBER)
        if not self._locked:  # else `changing` knows better
            self._now = number
        self._until = began + self._lease
        if self._seen != seen:
            self._wake.set()


async def _end(line: AsyncConnection | None) -> None:
    """Give a connection up that failed."""
    if line is not None:
        with contextlib.suppress(Exception):
            await line.invalidate()
            await line.close()
