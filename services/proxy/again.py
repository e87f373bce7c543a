"""What Redis has to be told again, since it did not answer when it was told."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable

from leakrange.wire.errors import Unavailable

__all__ = ["Again"]

PAUSE = 0.5
"""Seconds between attempts."""
MOST = 4096
"""Of more, the oldest are left to the time after which their reservations end."""


class Again:
    """Tells one after the other until each was heard, ``within`` so many seconds. What is told may have been
    heard before."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._left: deque[tuple[Callable[[], Awaitable[None]], float]] = deque(maxlen=MOST)
        self._telling: asyncio.Task[None] | None = None

    def add(self, tell: Callable[[], Awaitable[None]]) -> None:
        """Have ``tell`` awaited until it raises `Unavailable` no more."""
        self._left.append((tell, time.monotonic() + self._within))
        if self._telling is None or self._telling.done():
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        while self._left:
            tell, until = self._left.popleft()
            while time.monotonic() < until:
                try:
                    await tell()
                    break
                except Unavailable:
                    await asyncio.sleep(PAUSE)

    async def close(self) -> None:
        """Tell no more."""
        if self._telling is not None:
            self._telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._telling
