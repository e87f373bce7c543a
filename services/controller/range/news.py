"""Stores the events of runs in order, and wakes the listeners."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakValueDictionary

from prometheus_client import CollectorRegistry, Counter

from leakrange.store.engine import Database
from leakrange.store.events import Events


class News:
    """Appends events to SQL and wakes whoever follows the run in this process."""

    def __init__(self, database: Database, registry: CollectorRegistry | None = None) -> None:
        self._database = database
        self.trials = Counter(
            "leakrange_controller_trials_ended", "Trials that ended, by state", ("state",), registry=registry
        )
        self._changes: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    async def tell(self, run: str, kind: str, data: dict[str, Any]) -> None:
        """Store an event in a transaction of its own and announce it."""
        async with self._database.write() as session:
            await Events(session).append(run, kind, data)
        self.announce(run)

    def announce(self, run: str) -> None:
        """Wake the followers of a run after a committed change."""
        if (change := self._changes.pop(run, None)) is not None:
            change.set()

    def announce_all(self) -> None:
        """Wake the followers of all runs."""
        for run in list(self._changes):
            self.announce(run)

    def next_change(self, run: str) -> asyncio.Event:
        """An event that is set by the next announcement. Take it before reading the current state;
        otherwise a change between the two would be missed."""
        change = self._changes.get(run)
        if change is None:
            change = self._changes[run] = asyncio.Event()
        return change
