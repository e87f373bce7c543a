"""Operations on runs: start, list, follow, cancel, results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from fastapi.sse import ServerSentEvent
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.report.table import to_csv
from leakrange.scenario.document import Scenario
from leakrange.scenario.language import parse
from leakrange.scenario.limited import under_limits
from leakrange.scenario.matrix import expand
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import Plan
from leakrange.scenario.results import RunResults
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.files import FolderStore
from leakrange.store.jobs import Jobs
from leakrange.store.runs import FINAL, Runs
from leakrange.store.tables import Run
from leakrange.store.trials import Trials
from leakrange.wire.errors import BodyTooLarge
from leakrange.wire.events import RunQueued
from leakrange.wire.runs import Accepted, Count, RunList, RunView, State
from services.controller.range.news import News
from services.controller.range.supervisor import Supervisor
from services.controller.runs.environment import describe
from services.controller.runs.results import gather, read_record

MAX_SCENARIO = 1_000_000


@dataclass(frozen=True)
class Written:
    """A run's scenario as somebody wrote it; ``load``: whether users under load asked."""

    name: str
    text: str
    load: bool


class Stamp(NamedTuple):
    """Changes with whatever happens in a run: its state, how many events it has, and why it cannot go on."""

    state: State
    events: int
    unrecorded: str | None


class RunService:
    """The runs of this range. One per controller."""

    def __init__(self, database: Database, releases: FolderStore, news: News, supervisor: Supervisor) -> None:
        self._database, self._releases, self._news, self._supervisor = database, releases, news, supervisor
        self._closing = False

    async def start(self, body: bytes, *, load: bool = False, origin: str | None = None) -> Accepted:
        """Check a scenario, store it as a run, and begin; raises `InvalidScenario` with every mistake. A run
        under ``load`` offers its questions to the users of the scenario's section of that name. ``origin`` is
        the run that the scenario was taken from; raises `NotFound` where there is none of that name."""
        if len(body) > MAX_SCENARIO:
            raise BodyTooLarge(f"a scenario may have {MAX_SCENARIO} bytes", hint="is this a scenario?")
        scenario, plan = await asyncio.to_thread(_plan, body, load)
        recipes = [each.recipe for each in plan.trained]
        environment = await asyncio.to_thread(describe, recipes)
        async with self._database.write() as session:
            if origin is not None:
                await Runs(session).get(origin)
            run = await Runs(session).create(
                scenario.name,
                scenario_yaml=body.decode("utf-8-sig"),
                scenario=scenario.model_dump(mode="json"),
                plan=plan.model_dump(mode="json"),
                environment=environment,
                origin=origin,
            )
            created = run.id
            queued = RunQueued(name=scenario.name, trials=len(plan.trials), models=len(plan.models))
            await Events(session).append(created, "run.queued", queued.told())
        self._supervisor.begin(created)
        return Accepted(
            id=created,
            name=scenario.name,
            trials=len(plan.trials),
            models=len(plan.models),
            url=f"/v1/runs/{created}",
        )

    async def page(self, limit: int, after: str | None) -> RunList:
        """Runs, newest first."""
        async with self._database.read() as session:
            rows, following = await Runs(session).page(limit=limit, after=after)
            return RunList(runs=await self._views(session, rows), next=following)

    async def view(self, run: str) -> RunView:
        """One run; raises `NotFound`."""
        async with self._database.read() as session:
            [view] = await self._views(session, [await Runs(session).get(run)])
            return view

    async def stamp(self, run: str) -> Stamp:
        """How far a run is; raises `NotFound`."""
        async with self._database.read() as session:
            found = await Runs(session).get(run)
            return Stamp(found.state, found.events, self._supervisor.unrecorded.get(run))

    async def _views(self, session: AsyncSession, runs: Sequence[Run]) -> list[RunView]:
        ids, unrecorded = [run.id for run in runs], self._supervisor.unrecorded
        jobs, trials = await Jobs(session).tally(ids), await Trials(session).tally(ids)
        taken = await Runs(session).taken_from(ids)
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
                jobs={kind: _count(states) for kind, states in jobs[run.id].items()},
                trials=_count(trials[run.id]),
                origin=run.origin,
                successors=taken[run.id],
            )
            for run in runs
        ]

    async def written(self, run: str) -> Written:
        """The scenario of a run as it was written; raises `NotFound`."""
        async with self._database.read() as session:
            found = await Runs(session).get(run)
            plan = await Runs(session).plan(run) or {}
        return Written(name=found.name, text=found.scenario_yaml, load=plan.get("load") is not None)

    async def again(self, run: str) -> Accepted:
        """Run the same scenario once more; raises `NotFound`, and `InvalidScenario` where this version of
        Leakrange does not take it any more."""
        found = await self.written(run)
        return await self.start(found.text.encode(), load=found.load, origin=run)

    async def cancel(self, run: str) -> RunView:
        """Stop a run; raises `NotFound`."""
        await self._supervisor.cancel(run)
        return await self.view(run)

    async def follow(self, run: str, after: int) -> AsyncIterator[ServerSentEvent]:
        """The events of a run after number ``after``, until it is finished or the controller shuts down."""
        while not self._closing:
            change = self._news.next_change(run)
            async with self._database.read() as session:
                # In this order: no event is written after the state that ends a run.
                state = (await Runs(session).get(run)).state
                found = await Events(session).after(run, after)
            for event in found:
                after = event.seq
                yield _told(event.kind, event.at, str(event.seq), **event.data)
            if found:
                continue
            if state in FINAL:
                return
            if (reason := self._supervisor.unrecorded.get(run)) is not None:
                yield _told("run.finished", datetime.now(UTC), state="failed", message=reason)
                return
            await change.wait()

    def close(self) -> None:
        """End all open event streams, because the controller shuts down."""
        self._closing = True
        self._news.announce_all()

    async def results(self, run: str) -> RunResults:
        """Everything known of a run so far; raises `NotFound`."""
        async with self._database.read() as session:
            record = await read_record(session, run)
        return await asyncio.to_thread(gather, record, self._releases)

    async def table(self, run: str) -> str:
        """All trials so far as CSV; raises `NotFound`."""
        return await asyncio.to_thread(to_csv, await self.results(run))


def _plan(body: bytes, load: bool) -> tuple[Scenario, Plan]:
    scenario = parse(body)
    if not load:
        return scenario, expand(scenario)
    if scenario.load is None:
        Mistakes().refuse((), "'load' is missing: a run under load needs to be told which users ask")
    return scenario, under_limits(expand(scenario), scenario.load)


def _count(states: Mapping[Any, int]) -> Count:
    ended = states.get("done", 0) + states.get("refused", 0)
    return Count(done=ended, failed=states.get("failed", 0), total=sum(states.values()))


def _told(kind: str, at: datetime, number: str | None = None, /, **data: Any) -> ServerSentEvent:
    told = orjson.dumps({"at": at.isoformat(), **data})
    return ServerSentEvent(event=kind, id=number, raw_data=told.decode())


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None
