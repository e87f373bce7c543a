"""Turns at work that takes the processor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leakrange.wire.errors import Unavailable

__all__ = ["Turns"]

PATIENCE = 10.0
"""Seconds for which somebody waits for a turn."""
WAITING = 64
"""So many wait at most: who comes later is refused at once."""


class Turns:
    """At most ``at_once`` have a turn at a time. ``busy`` is what those are told who get none."""

    def __init__(self, at_once: int, busy: str) -> None:
        self._free, self._busy, self._waiting = asyncio.Semaphore(at_once), busy, 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Within, the turn is taken. Raises `Unavailable` where it does not come for `PATIENCE` seconds, and
        at once where too many wait for one."""
        if self._waiting >= WAITING:
            raise Unavailable(self._busy, hint="ask again")
        self._waiting += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await self._free.acquire()
        except TimeoutError as error:
            raise Unavailable(self._busy, hint="ask again") from error
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()
