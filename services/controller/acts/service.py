"""Keeps the log of the operator's acts: what is done here, and what the proxy tells of."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import structlog

from leakrange.store.acts import Acts
from leakrange.store.engine import Database
from leakrange.wire.acts import Act, ActList
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.operator import Proxy

__all__ = ["ActLog"]

log = structlog.get_logger("leakrange.services.controller.acts")
EVERY = 30.0
"""Seconds between two questions to the proxy."""
AGAIN = timedelta(minutes=1)
"""So much of what the proxy told is asked for again: its processes may tell an act a little late."""
TOGETHER = 500


class ActLog:
    """The log in SQL, and the task that asks the proxy for what was done there."""

    def __init__(self, database: Database, proxy: Proxy) -> None:
        self._database, self._proxy = database, proxy
        self._task: asyncio.Task[None] | None = None

    async def note(self, act: Act) -> None:
        """Add an act that was done here."""
        async with self._database.write() as session:
            await Acts(session).add([act])

    async def page(self, after: int, limit: int) -> ActList:
        """Acts behind that number, oldest first, with the proxy's newest where it answers."""
        await self._collect()
        async with self._database.read() as session:
            return await Acts(session).page(after=after, limit=limit)

    async def newest(self, limit: int) -> ActList:
        """The last acts, oldest first, with the proxy's newest where it answers."""
        await self._collect()
        async with self._database.read() as session:
            return await Acts(session).newest(limit)

    def start(self) -> None:
        """Begin to ask the proxy."""
        self._task = asyncio.get_running_loop().create_task(self._ask())

    async def stop(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _ask(self) -> None:
        while True:
            await self._collect()
            await asyncio.sleep(EVERY)

    async def _collect(self) -> None:
        try:
            async with self._database.read() as session:
                last = await Acts(session).last("proxy")
            since = 0.0 if last is None else (last.at - AGAIN).timestamp()
            acts = (await self._proxy.acts(since)).acts
            for begin in range(0, len(acts), TOGETHER):
                async with self._database.write() as session:
                    await Acts(session).add(acts[begin : begin + TOGETHER])
        except LeakrangeError as error:
            log.debug("the proxy's acts could not be read", reason=error.detail)
