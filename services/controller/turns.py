"""Bounds on what many ask for at once: turns at work that takes the processor, and seats for those who
follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from leakrange.wire.errors import Unavailable

__all__ = ["Followers", "Seats", "Turns"]

PATIENCE = 10.0
"""Seconds for which somebody waits for a turn."""
WAITING = 64
"""The largest number of those who wait; who comes later is refused at once."""
VIEWERS, OPERATORS = 200, 50
"""Seats of those who follow runs."""


class Turns:
    """At most ``at_once`` have a turn at a time. ``busy`` is the message for those who get none."""

    def __init__(self, at_once: int, busy: str) -> None:
        self._free, self._busy, self._waiting = asyncio.Semaphore(at_once), busy, 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold a turn within the block. Raises `Unavailable` if none comes within `PATIENCE` seconds, and at
        once if too many wait for one."""
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


class Seats:
    """A limited number of seats, each held as long as its holder likes. ``full`` is the message for
    others."""

    def __init__(self, seats: int, full: str) -> None:
        self._free, self._full = seats, full

    @contextmanager
    def seat(self) -> Iterator[None]:
        """Hold a seat within the block. Raises `Unavailable` if none is free."""
        if self._free <= 0:
            raise Unavailable(self._full, hint="come back later", retry_after=5.0)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


class Followers:
    """The seats of those who follow runs, by their role. Viewers cannot take those of operators."""

    def __init__(self) -> None:
        full = "too many follow runs"
        self.viewers, self.operators = Seats(VIEWERS, full), Seats(OPERATORS, full)
