"""Operations on runs: start, list, follow, cancel, results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.scenario.bounds import MAX_AT_ONCE
from leakrange.scenario.document import Scenario
from leakrange.scenario.language import parse
from leakrange.scenario.limited import under_limits
from leakrange.scenario.matrix import Expansion
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import Plan, PlannedTrial
from leakrange.services.controller.engine.supervisor import Supervisor
from leakrange.services.controller.range.news import News
from leakrange.services.controller.runs.environment import describe
from leakrange.services.controller.runs.following import Following
from leakrange.services.controller.runs.reader import RunReader
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.files import ObjectStore
from leakrange.store.runs import FINAL, RunStore
from leakrange.store.trials import Trials
from leakrange.wire.errors import BodyTooLarge, Conflict
from leakrange.wire.events import RunQueued
from leakrange.wire.runs import Accepted, RunView

MAX_SCENARIO = 1_000_000
AT_ONCE = 1000
"""The number of trials that are planned before they are stored."""


class RunService(RunReader):
    """Runs of this range are started and followed by it. One per controller."""

    def __init__(self, database: Database, releases: ObjectStore, news: News, supervisor: Supervisor) -> None:
        super().__init__(database, releases, supervisor.unrecorded)
        self._supervisor = supervisor
        self._following = Following(database, news, supervisor.unrecorded)

    async def start(self, body: bytes, *, load: bool = False, origin: str | None = None) -> Accepted:
        """Check a scenario, store it as a run, and begin; raises `InvalidScenario` with every mistake. A run
        under ``load`` offers its questions to the users of the scenario's section of that name. ``origin`` is
        the run that the scenario was taken from; raises `NotFound` if there is no such run."""
        if len(body) > MAX_SCENARIO:
            raise BodyTooLarge(f"a scenario may have {MAX_SCENARIO} bytes", hint="is this a scenario?")
        scenario, trials, rest = await asyncio.to_thread(_expanded, body, load)
        run, count = "", 0
        try:
            while True:
                part = await asyncio.to_thread(_next, trials)
                plan = None if len(part) == AT_ONCE else await asyncio.to_thread(rest)
                if plan is not None:
                    environment = await asyncio.to_thread(describe, [each.recipe for each in plan.trained])
                count += len(part)
                async with self._database.write() as session:
                    run = run or await _created(session, body, scenario, origin)
                    if (await RunStore(session).get(run)).state in FINAL:
                        raise Conflict("the run was cancelled before it was planned")
                    results = [(each["result"]["id"], each.pop("result")) for each in part]
                    await Trials(session).add(run, results, part)
                    if plan is not None:
                        await RunStore(session).put_plan(run, plan.dumped(), environment)
                        queued = RunQueued(name=scenario.name, trials=count, models=len(plan.models))
                        await Events(session).append(run, "run.queued", queued.told())
                        break
        except BaseException:
            if run:  # a run that is not planned to its end was never there
                async with self._database.write() as session:
                    await RunStore(session).remove(run)
            raise
        self._supervisor.begin(run)
        models = len(plan.models)
        return Accepted(id=run, name=scenario.name, trials=count, models=models, url=f"/v1/runs/{run}")

    async def again(self, run: str) -> Accepted:
        """Run the same scenario once more; raises `NotFound`, and `InvalidScenario` where this version of
        Leakrange does not take it any more."""
        written = await self.written(run)
        return await self.start(written.text.encode(), load=written.load, origin=run)

    async def cancel(self, run: str) -> RunView:
        """Stop a run; raises `NotFound`."""
        await self._supervisor.cancel(run)
        return await self.view(run)

    def follow(self, run: str, after: int) -> AsyncIterator[bytes]:
        """The events of a run after number ``after`` as server-sent events, until it is finished or the
        controller shuts down."""
        return self._following.follow(run, after)

    def close(self) -> None:
        """End all open event streams, because the controller shuts down."""
        self._following.close()


def _expanded(body: bytes, load: bool) -> tuple[Scenario, Iterator[PlannedTrial], Callable[[], Plan]]:
    """A scenario, its trials, and what returns the rest of its plan behind the last of them."""
    scenario = parse(body, here=True)
    expansion = Expansion(scenario)
    if not load:
        return scenario, iter(expansion), expansion.plan
    if scenario.load is None:
        Mistakes().refuse((), "'load' is missing: a run under load needs to be told which users ask")
    few = list(islice(expansion, MAX_AT_ONCE + 1))  # more are refused
    plan = under_limits(expansion.plan(few), scenario.load)
    return scenario, iter(plan.trials), lambda: plan


def _next(trials: Iterator[PlannedTrial]) -> list[dict[str, Any]]:
    return [trial.model_dump(mode="json") for trial in islice(trials, AT_ONCE)]


async def _created(session: AsyncSession, body: bytes, scenario: Scenario, origin: str | None) -> str:
    if origin is not None:
        await RunStore(session).get(origin)
    run = await RunStore(session).create(
        scenario.name,
        scenario_yaml=body.decode("utf-8-sig"),
        scenario=scenario.model_dump(mode="json"),
        origin=origin,
    )
    return run.id
