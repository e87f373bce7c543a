"""Reads what a run found, once for all who look at it, and again when something has changed."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from leakrange.report.charts.picture import Picture
from leakrange.report.contents import Contents, read
from leakrange.report.narrowed import ALL, Narrowing
from leakrange.report.page import rendered
from leakrange.store.runs import FINAL
from leakrange.wire.errors import NotFound
from services.controller.runs.service import RunService, Stamp

__all__ = ["Held", "ViewService"]

KEPT = 8
"""So many contents are kept in memory."""
REST = 3.0
"""While a run goes on, its contents hold for so many times what it took to read them."""


@dataclass(frozen=True)
class Held:
    """Contents, of which state of the run they are, and until when they hold in any case."""

    contents: Contents
    stamp: Stamp
    until: float


class ViewService:
    """What the runs of this range found. One per controller."""

    def __init__(self, runs: RunService) -> None:
        self._runs = runs
        self._reading = asyncio.Lock()  # contents are read once, however many ask for them
        self._drawing = asyncio.Lock()
        self._held: OrderedDict[tuple[str, Narrowing], Held] = OrderedDict()
        self._reports: dict[str, str] = {}

    async def contents(self, run: str, narrowing: Narrowing = ALL) -> Held:
        """What the run found so far; raises `NotFound`."""
        async with self._reading:
            now = await self._runs.stamp(run)
            held = self._held.get((run, narrowing))
            if held is None or (held.stamp != now and time.monotonic() > held.until):
                began = time.monotonic()
                results = await self._runs.results(run)
                made = await asyncio.to_thread(read, results, narrowing)
                ended = time.monotonic()
                until = ended if results.state in FINAL else ended + REST * (ended - began)
                held = self._held[run, narrowing] = Held(made, now, until)
            self._held.move_to_end((run, narrowing))
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
        return held

    async def picture(self, run: str, name: str, narrowing: Narrowing = ALL) -> Picture:
        """One chart of a run; raises `NotFound`."""
        held = await self.contents(run, narrowing)
        found = held.contents.pictures.get(name)
        if found is None:
            raise NotFound(f"run {run} has no view {name!r}", hint=f"GET /v1/runs/{run}/views lists them")
        return found

    async def report(self, run: str) -> str:
        """The report page; that of a finished run is kept. Raises `NotFound`."""
        async with self._drawing:
            if run in self._reports:
                return self._reports[run]
            contents = (await self.contents(run)).contents
            page = await asyncio.to_thread(rendered, contents)
            if contents.results.state in FINAL:
                self._reports = {run: page}
        return page
