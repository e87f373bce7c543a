"""What can be asked of runs: start, list, follow, cancel, results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime

import orjson
from leakrange.scenario.language import Scenario, parse
from leakrange.scenario.matrix import expand
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.scenario.plan import Plan
from leakrange.scenario.results import RunResults
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.files import FileStore
from leakrange.store.jobs import Jobs
from leakrange.store.runs import FINAL, Runs
from leakrange.store.tables import Run
from leakrange.store.trials import Trials
from leakrange.wire.errors import BodyTooLarge
from services.controller.range.news import News
from services.controller.range.supervisor import Supervisor
from services.controller.runs.environment import describe
from services.controller.runs.results import gather
from services.controller.runs.schemas import Accepted, Count, RunList, RunView

__all__ = ["RunService"]

MAX_SCENARIO = 1_000_000
KEEP_ALIVE = 15.0


class RunService:
    """The runs of this range. One per controller."""

    def __init__(self, database: Database, releases: FileStore, news: News, supervisor: Supervisor) -> None:
        self._database, self._releases, self._news, self._supervisor = database, releases, news, supervisor
        self._drawing = asyncio.Lock()  # matplotlib draws one figure at a time
        self._pages: dict[str, str] = {}
        self._closing = asyncio.Event()

    async def start(self, body: bytes) -> Accepted:
        """Check a scenario, store it as a run, and begin; raises `InvalidScenario` with every mistake."""
        if len(body) > MAX_SCENARIO:
            raise BodyTooLarge(f"a scenario may have {MAX_SCENARIO} bytes", hint="is this a scenario?")
        scenario, plan = await asyncio.to_thread(_plan, body)
        async with self._database.write() as session:
            run = await Runs(session).create(
                scenario.name,
                scenario_yaml=body.decode(),
                scenario=scenario.model_dump(mode="json"),
                plan=plan.model_dump(mode="json"),
                environment=describe(),
            )
            created = run.id
            await Events(session).append(
                created,
                "run.queued",
                {"name": scenario.name, "trials": len(plan.trials), "models": len(plan.models)},
            )
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
            return RunList(runs=[await _view(session, run) for run in rows], next=following)

    async def view(self, run: str) -> RunView:
        """One run; raises `NotFound`."""
        async with self._database.read() as session:
            return await _view(session, await Runs(session).get(run))

    async def cancel(self, run: str) -> RunView:
        """Stop a run; raises `NotFound`."""
        await self.view(run)
        await self._supervisor.cancel(run)
        return await self.view(run)

    async def follow(self, run: str, after: int) -> AsyncIterator[bytes]:
        """The events of a run as server-sent events, from number ``after`` on, until the run is finished."""
        while not self._closing.is_set():
            async with self._database.read() as session:
                found = await Events(session).after(run, after)
                state = (await Runs(session).get(run)).state
            for event in found:
                after = event.seq
                data = {"at": event.at.isoformat(), **event.data}
                yield b"id: %d\nevent: %b\ndata: %b\n\n" % (
                    event.seq,
                    event.kind.encode(),
                    orjson.dumps(data),
                )
            if found:
                continue
            if state in FINAL:
                return
            await self._news.wait(run, KEEP_ALIVE)
            yield b": still here\n\n"

    def close(self) -> None:
        """End all open event streams: the controller is going down."""
        self._closing.set()

    async def results(self, run: str) -> RunResults:
        """Everything known of a run so far; raises `NotFound`."""
        async with self._database.read() as session:
            return await gather(session, self._releases, run)

    async def rendered(self, found: RunResults, render: Callable[[RunResults], str]) -> str:
        """The report page; that of a finished run is drawn once."""
        if found.run in self._pages:
            return self._pages[found.run]
        async with self._drawing:
            page = await asyncio.to_thread(render, found)
        if found.state in FINAL:
            self._pages.clear()
            self._pages[found.run] = page
        return page


def _plan(body: bytes) -> tuple[Scenario, Plan]:
    scenario = parse(body)
    return scenario, expand(scenario)


async def _view(session: AsyncSession, run: Run) -> RunView:
    jobs = {}
    for kind, states in (await Jobs(session).counts(run.id)).items():
        jobs[str(kind)] = Count(
            done=states.get("done", 0), failed=states.get("failed", 0), total=sum(states.values())
        )
    trials = await Trials(session).of_run(run.id)
    states_of_trials = [trial["state"] for trial in trials]
    return RunView(
        id=run.id,
        name=run.name,
        state=run.state,
        created=run.created.isoformat(),
        started=_iso(run.started),
        finished=_iso(run.finished),
        seconds=run.seconds,
        error=run.error,
        jobs=jobs,
        trials=Count(
            done=states_of_trials.count("done"), failed=states_of_trials.count("failed"), total=len(trials)
        ),
    )


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None
