"""A run that went through on made-up parties: everything that was recorded of it, for tests that look on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import redis

from leakrange.scenario.document import Scenario
from leakrange.scenario.language import parse
from leakrange.scenario.plan import Plan
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.live.fold import Fold
from leakrange.services.controller.live.state import RunState
from leakrange.services.controller.range.journal import Journal
from leakrange.services.controller.range.news import News
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.events import Events
from leakrange.store.tables import EventRow
from tests.controller.parties import stood_in
from tests.controller.test_graph import SCENARIO, planned

__all__ = ["Recorded", "recorded_run"]


@dataclass
class Recorded:
    """Its plan and events, what its trials came to, and what its keys spent."""

    id: str
    scenario: Scenario
    plan: Plan
    events: list[EventRow]
    results: dict[str, TrialResult]
    spent: dict[str, int]

    def fold(self, events: Iterable[EventRow]) -> Fold:
        """These events of it."""
        made = Fold(self.plan, self.scenario.model_dump(mode="json"))
        for event in events:
            made.take(event.seq, event.kind, event.at, event.data)
        return made

    def after(self, number: int) -> RunState:
        """The state after so many events."""
        return self.fold(self.events[:number]).state

    @property
    def end(self) -> RunState:
        """The state after all of them."""
        return self.after(len(self.events))

    def first(self, kind: str, /, **members: str) -> int:
        """The number of the first event of that kind with these members."""
        return next(
            event.seq for event in self.events if event.kind == kind and members.items() <= event.data.items()
        )


def recorded_run(told: ControllerSettings) -> Recorded:
    """Drive it to its end, with a database that is migrated."""
    with redis.Redis.from_url(told.redis_url) as client:
        client.flushall()

    async def record() -> Recorded:
        scenario = parse(SCENARIO)
        written = scenario.model_dump(mode="json")
        async with stood_in(planned(SCENARIO), told, scenario=written) as run:
            results = await run.execute()
            spent = {f"{run.run}.{name}": own for name, (own, _) in (await run.ledger()).items()}
            await Journal(run.run, run.database, News(run.database)).finish()
            async with run.database.read() as session:
                events = list(await Events(session).after(run.run))
        return Recorded(run.run, scenario, run.plan, events, results, spent)

    # In a thread: where a browser is open, this one has a loop already.
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(lambda: asyncio.run(record())).result()
