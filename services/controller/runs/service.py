"""Operations on runs: start, list, follow, cancel, results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from leakrange.scenario.document import Scenario
from leakrange.scenario.language import parse
from leakrange.scenario.limited import under_limits
from leakrange.scenario.matrix import expand
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import Plan
from leakrange.services.controller.engine.supervisor import Supervisor
from leakrange.services.controller.range.news import News
from leakrange.services.controller.runs.environment import describe
from leakrange.services.controller.runs.following import Following
from leakrange.services.controller.runs.reader import RunReader
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.files import FolderStore
from leakrange.store.runs import RunStore
from leakrange.wire.errors import BodyTooLarge
from leakrange.wire.events import RunQueued
from leakrange.wire.runs import Accepted, RunView

MAX_SCENARIO = 1_000_000


class RunService(RunReader):
    """Runs of this range are started and followed by it. One per controller."""

    def __init__(self, database: Database, releases: FolderStore, news: News, supervisor: Supervisor) -> None:
        super().__init__(database, releases, supervisor.unrecorded)
        self._supervisor = supervisor
        self._following = Following(database, news, supervisor.unrecorded)

    async def start(self, body: bytes, *, load: bool = False, origin: str | None = None) -> Accepted:
        """Check a scenario, store it as a run, and begin; raises `InvalidScenario` with every mistake. A run
        under ``load`` offers its questions to the users of the scenario's section of that name. ``origin`` is
        the run that the scenario was taken from; raises `NotFound` if there is no such run."""
        if len(body) > MAX_SCENARIO:
            raise BodyTooLarge(f"a scenario may have {MAX_SCENARIO} bytes", hint="is this a scenario?")
        scenario, plan = await asyncio.to_thread(_plan, body, load)
        recipes = [each.recipe for each in plan.trained]
        environment = await asyncio.to_thread(describe, recipes)
        async with self._database.write() as session:
            if origin is not None:
                await RunStore(session).get(origin)
            run = await RunStore(session).create(
                scenario.name,
                scenario_yaml=body.decode("utf-8-sig"),
                scenario=scenario.model_dump(mode="json"),
                plan=await asyncio.to_thread(plan.dumped),
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


def _plan(body: bytes, load: bool) -> tuple[Scenario, Plan]:
    scenario = parse(body, here=True)
    if not load:
        return scenario, expand(scenario)
    if scenario.load is None:
        Mistakes().refuse((), "'load' is missing: a run under load needs to be told which users ask")
    return scenario, under_limits(expand(scenario), scenario.load)
