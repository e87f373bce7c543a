"""Messages to Redis that are repeated, since it did not answer when they were sent."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable

from leakrange.wire.errors import Unavailable

__all__ = ["Retries"]

PAUSE = 0.5
"""Seconds between attempts."""
MOST = 4096
"""Largest number of messages. Of more, the oldest are dropped: their reservations end after a while
anyway."""


class Retries:
    """Sends one message after the other until each was received, ``within`` so many seconds. A message may
    have been received before."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._pending: deque[tuple[Callable[[], Awaitable[None]], float]] = deque(maxlen=MOST)
        self._task: asyncio.Task[None] | None = None

    def add(self, send: Callable[[], Awaitable[None]]) -> None:
        """Repeat ``send`` until it no longer raises `Unavailable`."""
        self._pending.append((send, time.monotonic() + self._within))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._pending:
            send, until = self._pending.popleft()
            while time.monotonic() < until:
                try:
                    await send()
                    break
                except Unavailable:
                    await asyncio.sleep(PAUSE)

    async def close(self) -> None:
        """Stop sending."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
