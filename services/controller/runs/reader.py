"""Stored runs: their list, and the results of each."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.report.narrowed import ALL, Narrowing
from leakrange.report.table import TrialTable
from leakrange.report.worst import overview
from leakrange.scenario.bounds import MAX_AT_ONCE
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.scenario.table import FigureColumn, columns_of
from leakrange.services.controller.range.record import check_few, check_number
from leakrange.services.controller.runs.results import gather, read_record
from leakrange.store.engine import Database
from leakrange.store.files import ObjectStore
from leakrange.store.jobs import Jobs
from leakrange.store.runs import FINAL, Order, RunStore
from leakrange.store.tables import RunRow
from leakrange.store.trials import CellName, Names, Trials
from leakrange.wire.runs import Count, RunList, RunView, State, WorstLeak
from leakrange.wire.views import Choices, RunOverview

__all__ = ["RunPart", "RunReader", "Stamp", "Written"]

A_PAGE = 500
"""The number of trials that are read and written out together."""
KEPT = 1000
"""The number of runs that are over whose counts of jobs and trials are kept."""


@dataclass(frozen=True)
class Written:
    """A run's scenario in its original text; ``load``: whether it ran under load."""

    name: str
    text: str
    load: bool


class Stamp(NamedTuple):
    """Changes with whatever happens in a run: its state, how many events it has, and why it cannot go on."""

    state: State
    events: int
    unrecorded: str | None


class RunPart(NamedTuple):
    """What is shown of a run together: the ``results`` of some or all of its ``trials``, and the ``choices``
    of the whole run where they are of some."""

    results: RunResults
    choices: Choices | None
    trials: int


class RunReader:
    """The runs of this range, for whoever looks. ``unrecorded`` are the failed ones, with the reason, whose
    end cannot be written down."""

    def __init__(
        self, database: Database, releases: ObjectStore, unrecorded: Mapping[str, str] | None = None
    ) -> None:
        self._database, self._releases = database, releases
        self._unrecorded = {} if unrecorded is None else unrecorded
        self._counted: OrderedDict[str, tuple[dict[str, Count], Count]] = OrderedDict()

    async def page(self, limit: int, after: str | None) -> RunList:
        """Runs, newest first."""
        async with self._database.read() as session:
            rows, following = await RunStore(session).page(limit=limit, after=after)
            return RunList(runs=await self._views(session, rows), next=following)

    async def table(
        self, by: Order, *, down: bool, text: str, state: State | None, limit: int, start: int
    ) -> tuple[list[RunView], int]:
        """The runs of `RunStore.sorted`, and how many there are."""
        async with self._database.read() as session:
            rows, total = await RunStore(session).sorted(
                by, down=down, text=text, state=state, limit=limit, start=start
            )
            return await self._views(session, rows), total

    async def view(self, run: str) -> RunView:
        """One run; raises `NotFound`."""
        async with self._database.read() as session:
            [view] = await self._views(session, [await RunStore(session).get(run)])
            return view

    async def stamp(self, run: str) -> Stamp:
        """The stamp of a run; raises `NotFound`."""
        async with self._database.read() as session:
            stored = await RunStore(session).get(run)
            return Stamp(stored.state, stored.events, self._unrecorded.get(run))

    async def _views(self, session: AsyncSession, runs: Sequence[RunRow]) -> list[RunView]:
        counted = await self._counts(session, runs)
        taken = await RunStore(session).taken_from([run.id for run in runs])
        unrecorded = self._unrecorded
        return [
            RunView(
                id=run.id,
                name=run.name,
                state="failed" if run.id in unrecorded else run.state,
                created=run.created.isoformat(),
                started=_iso(run.started),
                finished=_iso(run.finished),
                seconds=run.seconds,
                error=unrecorded.get(run.id, run.error),
                jobs=counted[run.id][0],
                trials=counted[run.id][1],
                origin=run.origin,
                successors=taken[run.id],
                leak=WorstLeak.model_validate(run.leak) if run.leak is not None else None,
            )
            for run in runs
        ]

    async def _counts(
        self, session: AsyncSession, runs: Sequence[RunRow]
    ) -> dict[str, tuple[dict[str, Count], Count]]:
        """Jobs by kind, and trials, of each run. Those of a run that is over are counted once."""
        missing = [run.id for run in runs if run.id not in self._counted]
        jobs, trials = await Jobs(session).tally(missing), await Trials(session).tally(missing)
        counts = {run.id: self._counted[run.id] for run in runs if run.id in self._counted}
        for name in missing:
            counts[name] = {kind: _count(states) for kind, states in jobs[name].items()}, _count(trials[name])
        for run in runs:
            if run.state in FINAL:
                self._counted[run.id] = counts[run.id]
                self._counted.move_to_end(run.id)
        while len(self._counted) > KEPT:
            self._counted.popitem(last=False)
        return counts

    async def written(self, run: str) -> Written:
        """The scenario of a run in its original text; raises `NotFound`."""
        async with self._database.read() as session:
            stored = await RunStore(session).get(run)
            load = await RunStore(session).under_load(run)
        return Written(name=stored.name, text=stored.scenario_yaml, load=load)

    async def results(self, run: str) -> RunResults:
        """Everything known of a run so far; raises `NotFound`, and `TooManyTrials`."""
        async with self._database.read() as session:
            await check_few(session, run)
            record = await read_record(session, run)
        return await asyncio.to_thread(gather, record, self._releases)

    async def part(self, run: str, narrowing: Narrowing = ALL) -> RunPart:
        """Everything known of a run so far. Of one whose trials do not fit into memory, what is left by the
        ``narrowing``; where that keeps all, the cells that verdicts are about. Raises `NotFound`, and
        `TooManyTrials` where that is still too much."""
        async with self._database.read() as session:
            stored, trials = await RunStore(session).get(run), Trials(session)
            count, choices = await trials.count(run), None
            names: Names = {}
            cells: dict[CellName, int] | None = None
            if count > MAX_AT_ONCE:
                if narrowing.keeps_all:
                    cells = await trials.at_largest_budgets(run)
                    check_number(run, sum(cells.values()))
                else:
                    names = narrowing.names(_undefended(stored))
                    await check_few(session, run, names)
                every = await trials.choices(run)
                choices = Choices(**{f"{kind}s": list(counted) for kind, counted in every.items()})
            record = await read_record(session, run, names, cells)
        return RunPart(await asyncio.to_thread(gather, record, self._releases), choices, count)

    async def overview(self, run: str) -> RunOverview:
        """A run of any size in short; raises `NotFound`."""
        async with self._database.read() as session:
            stored, trials = await RunStore(session).get(run), Trials(session)
            states = (await trials.tally([run]))[run]
            choices, worst = await trials.choices(run), await trials.worst(run)
        return overview(stored, states, choices, worst)

    async def as_table(
        self, run: str, table: Callable[[list[FigureColumn]], TrialTable], narrowing: Narrowing = ALL
    ) -> AsyncIterator[bytes]:
        """All trials so far as a table, in pieces: it is never whole in memory. Raises `NotFound`."""
        async with self._database.read() as session:
            names = narrowing.names(_undefended(await RunStore(session).get(run)))
            figures = columns_of(await Trials(session).measured(run, names))
        return self._pieces(run, names, table(figures))

    async def _pieces(self, run: str, names: Names, table: TrialTable) -> AsyncIterator[bytes]:
        yield table.begin()
        after = 0
        while True:
            async with self._database.read() as session:
                page = await Trials(session).page(run, names, after=after, limit=A_PAGE)
            if not page:
                break
            after = page[-1][0]
            yield await asyncio.to_thread(_piece, table, page)
        yield table.end()


def _piece(table: TrialTable, page: list[tuple[int, dict[str, Any]]]) -> bytes:
    return table.piece([TrialResult.model_validate(result | {"views": {}}) for _, result in page])


def _undefended(run: RunRow) -> list[str]:
    return [name for name, chain in run.scenario.get("defences", {}).items() if not chain]


def _count(states: Mapping[Any, int]) -> Count:
    ended = states.get("done", 0) + states.get("refused", 0)
    return Count(done=ended, failed=states.get("failed", 0), total=sum(states.values()))


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None
