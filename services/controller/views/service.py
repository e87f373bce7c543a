"""Reads the results of a run once for all who look at them, and again when something has changed."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from leakrange.report.charts.picture import Picture
from leakrange.report.contents import Contents, read
from leakrange.report.narrowed import ALL, Narrowing
from leakrange.report.page import rendered
from leakrange.services.controller.runs.reader import RunReader, Stamp
from leakrange.store.runs import FINAL
from leakrange.wire.errors import NotFound

__all__ = ["Held", "ViewService"]

KEPT = 8
"""The number of contents that are kept in memory."""
REST = 3.0
"""While a run goes on, its contents are valid for this many times the time that it took to read them."""


@dataclass(frozen=True)
class Held:
    """Contents, the state of the run that they show, and the time until which they are valid in any case."""

    contents: Contents
    stamp: Stamp
    until: float


class ViewService:
    """The results of this range's runs. One per controller."""

    def __init__(self, runs: RunReader) -> None:
        self._runs = runs
        self._reading = asyncio.Lock()  # contents are read once, however many ask for them
        self._drawing = asyncio.Lock()
        self._held: OrderedDict[tuple[str, Narrowing], Held] = OrderedDict()
        self._reports: dict[tuple[str, Narrowing], str] = {}
        self._writing = asyncio.Lock()
        # One file, shared by all who download it: a large one takes long to send.
        self._file: tuple[str, Stamp, bytes] | None = None

    async def contents(self, run: str, narrowing: Narrowing = ALL) -> Held:
        """The results of the run so far; raises `NotFound`, and `TooManyTrials` where the narrowing leaves
        more than fit into memory."""
        async with self._reading:
            now = await self._runs.stamp(run)
            held = self._held.get((run, narrowing))
            if held is None or (held.stamp != now and time.monotonic() > held.until):
                began = time.monotonic()
                part = await self._runs.part(run, narrowing)
                contents = await asyncio.to_thread(read, part.results, narrowing, part.choices, part.trials)
                ended = time.monotonic()
                until = ended if part.results.state in FINAL else ended + REST * (ended - began)
                held = self._held[run, narrowing] = Held(contents, now, until)
            self._held.move_to_end((run, narrowing))
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
        return held

    async def picture(self, run: str, name: str, narrowing: Narrowing = ALL) -> Picture:
        """One chart of a run; raises `NotFound`."""
        held = await self.contents(run, narrowing)
        picture = held.contents.pictures.get(name)
        if picture is None:
            raise NotFound(f"run {run} has no view {name!r}", hint="the list of the run's views names them")
        return picture

    async def file(self, run: str) -> bytes:
        """All results of the run so far as JSON; raises `NotFound`, and `TooManyTrials`."""
        async with self._writing:
            now = await self._runs.stamp(run)
            if self._file is None or self._file[:2] != (run, now):
                results = await self._runs.results(run)
                self._file = run, now, await asyncio.to_thread(lambda: results.model_dump_json().encode())
        return self._file[2]

    async def report(self, run: str, narrowing: Narrowing = ALL) -> str:
        """The report page; that of a finished run is kept. Raises `NotFound`, and `TooManyTrials`."""
        async with self._drawing:
            if (run, narrowing) in self._reports:
                return self._reports[run, narrowing]
            contents = (await self.contents(run, narrowing)).contents
            page = await asyncio.to_thread(rendered, contents)
            if contents.results.state in FINAL:
                self._reports = {(run, narrowing): page}
        return page
