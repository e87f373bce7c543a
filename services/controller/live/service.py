"""The live state of runs, for pages: folded once for all who follow it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from leakrange.services.controller.live.fold import Fold
from leakrange.services.controller.live.state import RunState
from leakrange.services.controller.live.view import LiveView, view
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.record import stored_plan
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.runs import RunStore

__all__ = ["LiveMoment", "LiveService"]

T = TypeVar("T")
KEPT = 16
"""The number of runs whose states are kept; others are folded again when somebody looks."""
MOST_TRIALS = 60_000
"""Of all runs whose states are kept, unless it is one alone."""
EVERY = 0.4
"""The least number of seconds between two states that a follower gets, however many events there are."""
BEAT = 1.0
"""Seconds after which followers get a running run's state again without an event, since rates fall."""
A_PAGE = 500
"""The number of events that are folded before another task has a turn."""


@dataclass(frozen=True)
class LiveMoment:
    """The state of a run, and what a page shows of it at that time (seconds since the epoch): ``shown`` value
    by value, and ``parts`` as a whole, by name. The ``state`` changes when the run goes on."""

    state: RunState
    shown: LiveView
    parts: dict[str, str]
    seq: int
    over: bool
    accounts: int
    at: float


class _Live:
    """One run: only the holder of its ``turn`` changes and reads its ``fold``."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.fold: Fold | None = None
        self.last: LiveMoment | None = None


class LiveService:
    """The states of this range's runs; ``draw`` makes the parts of a page. One per controller."""

    def __init__(
        self, database: Database, news: News, draw: Callable[[RunState, LiveView], dict[str, str]]
    ) -> None:
        self._database, self._news, self._draw = database, news, draw
        self._runs: OrderedDict[str, _Live] = OrderedDict()
        # In threads, which share the interpreter with the event loop: two of them at most.
        self._drawing = asyncio.Semaphore(2)
        self._closing = False

    async def moment(self, run: str) -> LiveMoment:
        """The state now, and what is shown of it: made once for all who look within a short time. Raises
        `NotFound`, `Conflict` for a run that another version planned, or `TooManyTrials`."""
        live = self._live(run)
        if (last := _fresh(live)) is not None:
            return last
        async with live.turn:
            return _fresh(live) or await self._next_moment(run, live)

    async def drawn(self, run: str, draw: Callable[[LiveMoment], T]) -> T:
        """The result of ``draw`` for this moment, made in a thread. Raises as `moment` does."""
        live = self._live(run)
        async with live.turn:
            moment = _fresh(live) or await self._next_moment(run, live)
            return await self._apart(lambda: draw(moment))

    async def follow(self, run: str) -> AsyncIterator[LiveMoment]:
        """The moments of a run, until it is over or the controller shuts down: a few a second at most, and
        one a second where nothing happens."""
        while not self._closing:
            change = self._news.next_change(run)
            moment = await self.moment(run)
            yield moment
            if moment.over:
                return
            await asyncio.sleep(EVERY)
            try:
                async with asyncio.timeout(BEAT):
                    await change.wait()
            except TimeoutError:
                continue

    def close(self) -> None:
        """End all streams of followers, because the controller shuts down."""
        self._closing = True

    def _live(self, run: str) -> _Live:
        live = self._runs.setdefault(run, _Live())
        self._runs.move_to_end(run)
        return live

    async def _next_moment(self, run: str, live: _Live) -> LiveMoment:
        """Make a new moment; the caller holds the turn."""
        if live.fold is None:
            live.fold = await self._begun(run)
        state = await self._forward(run, live.fold)
        now = time.time()
        shown, parts = await self._apart(lambda: self._pictured(state, now))
        moment = LiveMoment(state, shown, parts, state.seq, state.over, len(state.accounts), now)
        live.last = moment
        self._make_room(run)
        return moment

    def _pictured(self, state: RunState, now: float) -> tuple[LiveView, dict[str, str]]:
        shown = view(state, now)
        return shown, self._draw(state, shown)

    async def _apart(self, work: Callable[[], T]) -> T:
        async with self._drawing:
            return await asyncio.to_thread(work)

    def _make_room(self, run: str) -> None:
        """Forget runs that nobody has looked at for longest, and nobody looks at now."""
        sizes = {name: len(each.fold.state.trials) for name, each in self._runs.items() if each.fold}
        for name in list(self._runs):
            if len(self._runs) <= KEPT and sum(sizes.values()) <= MOST_TRIALS:
                return
            if name != run and not self._runs[name].turn.locked():
                del self._runs[name]
                sizes.pop(name, None)

    async def _begun(self, run: str) -> Fold:
        async with self._database.read() as session:
            scenario: dict[str, Any] = (await RunStore(session).get(run)).scenario
            plan = await stored_plan(session, run, trials=True)
        return await self._apart(lambda: Fold(plan, scenario))

    async def _forward(self, run: str, fold: Fold) -> RunState:
        """The state after the events that came."""
        while True:
            async with self._database.read() as session:
                events = await Events(session).after(run, fold.state.seq, limit=A_PAGE)
            for event in events:
                fold.take(event.seq, event.kind, event.at, event.data)
            if len(events) < A_PAGE:
                return fold.state
            await asyncio.sleep(0)


def _fresh(live: _Live) -> LiveMoment | None:
    """The last moment, if it is recent enough; else None."""
    last = live.last
    if last is None or last.over or time.time() - last.at < EVERY:
        return last
    return None
