"""Events of runs: stored in order, and listeners told that there is something new."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from leakrange.store.engine import Database
from leakrange.store.events import Events

__all__ = ["News"]


class News:
    """Appends events to SQL and wakes whoever follows the run in this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def tell(self, run: str, kind: str, data: dict[str, Any]) -> None:
        """Store an event in a transaction of its own and announce it."""
        async with self._database.write() as session:
            await Events(session).append(run, kind, data)
        self.announce(run)

    def announce(self, run: str) -> None:
        """Wake the followers of a run after a committed change."""
        self._changed.pop(run, asyncio.Event()).set()

    async def wait(self, run: str, seconds: float) -> None:
        """Return at the next announcement, or after ``seconds``."""
        try:
            await asyncio.wait_for(self._changed[run].wait(), seconds)
        except TimeoutError:
            return
