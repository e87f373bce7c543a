"""The live state of runs, for pages: folded once, and followed by whoever looks."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from leakrange.scenario.plan import Plan
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.runs import Runs
from services.controller.live.fold import Fold
from services.controller.live.state import RunState
from services.controller.live.view import View, view
from services.controller.range.news import News

__all__ = ["LiveService", "Moment"]

KEPT = 16
"""Runs whose states are kept; others are folded again when somebody looks."""
EVERY = 0.4
"""Seconds between two states that somebody is told, however many events there are."""
BEAT = 1.0
"""Seconds after which a run that goes on is told again without an event: rates fall."""


@dataclass(frozen=True)
class Moment:
    """The state of a run, and what a page shows of it at that time (seconds since the epoch)."""

    state: RunState
    shown: View
    seq: int
    at: float


class LiveService:
    """The states of this range's runs. One per controller."""

    def __init__(self, database: Database, news: News) -> None:
        self._database, self._news = database, news
        self._folds: OrderedDict[str, Fold] = OrderedDict()
        self._folding: dict[str, asyncio.Lock] = {}
        self._moments: dict[str, Moment] = {}
        self._closing = False

    async def state(self, run: str) -> RunState:
        """The state after all events so far. Raises `NotFound`, or `Conflict` for a run that another version
        planned. It changes when the run goes on: use it before anything is awaited."""
        async with self._folding.setdefault(run, asyncio.Lock()):
            fold = self._folds.get(run)
            if fold is None:
                fold = await self._begun(run)
                self._folds[run] = fold
                while len(self._folds) > KEPT:
                    oldest, _ = self._folds.popitem(last=False)
                    self._folding.pop(oldest, None)
                    self._moments.pop(oldest, None)
            self._folds.move_to_end(run)
            await self._forward(run, fold, None)
            return fold.state

    async def moment(self, run: str) -> Moment:
        """The state now, and what is shown of it: made once for all who look within a short time."""
        state, now = await self.state(run), time.time()
        last = self._moments.get(run)
        if last is None or last.seq != state.seq or not (state.over or now - last.at < EVERY):
            last = self._moments[run] = Moment(state, view(state, now), state.seq, now)
        return last

    async def state_at(self, run: str, number: int) -> RunState:
        """The state after the event of that number, or after the last one before it."""
        fold = await self._begun(run)
        await self._forward(run, fold, number)
        return fold.state

    async def follow(self, run: str) -> AsyncIterator[Moment]:
        """The moments of a run, until it is over or the controller shuts down: a few a second at most, and
        one a second where nothing happens."""
        while not self._closing:
            change = self._news.next_change(run)
            moment = await self.moment(run)
            yield moment
            if moment.state.over:
                return
            await asyncio.sleep(EVERY)
            try:
                async with asyncio.timeout(BEAT):
                    await change.wait()
            except TimeoutError:
                continue

    def close(self) -> None:
        """End all that follow, because the controller shuts down."""
        self._closing = True

    async def _begun(self, run: str) -> Fold:
        async with self._database.read() as session:
            scenario: dict[str, Any] = (await Runs(session).get(run)).scenario
            stored = await Runs(session).plan(run)
        return await asyncio.to_thread(lambda: Fold(Plan.stored(stored), scenario))

    async def _forward(self, run: str, fold: Fold, last: int | None) -> None:
        """Take the events that came, up to number ``last``."""
        while True:
            async with self._database.read() as session:
                events = await Events(session).after(run, fold.state.seq)
            for event in events:
                if last is not None and event.seq > last:
                    return
                fold.take(event.seq, event.kind, event.at, event.data)
            if not events:
                return
