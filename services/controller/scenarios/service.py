"""Checks scenarios and completes what is being written, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from leakrange.scenario.completion import Completion, complete
from leakrange.scenario.forecast import Forecast, Trained, forecast, trains_like
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.scenario.unread import unread_decoders
from leakrange.scenario.yaml_source import MAX_BYTES
from leakrange.store.engine import Database
from leakrange.store.models import Models
from leakrange.wire.errors import BodyTooLarge, InvalidScenario, Unavailable
from services.controller.scenarios.schemas import Checked, Mistake

__all__ = ["ScenarioService"]

T = TypeVar("T")

AT_ONCE = 2
"""Anybody who may read can ask: more than that would take the time of those who watch runs."""
PATIENCE = 10.0


class ScenarioService:
    """One per controller."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def check(self, body: bytes) -> Checked:
        """Every mistake of a scenario, or what a run of it will take. Raises `BodyTooLarge`, and
        `Unavailable` where too many ask."""
        if len(body) > 4 * MAX_BYTES:
            raise BodyTooLarge(f"a scenario may have {MAX_BYTES} characters", hint="is this a scenario?")
        try:
            name, plan = await self._in_turn(lambda: _planned(body))
        except InvalidScenario as error:
            found = [Mistake.model_validate(each) for each in error.extra["mistakes"]]
            return Checked(valid=False, mistakes=found)
        warnings = unread_decoders(trial.result for trial in plan.trials)
        return Checked(valid=True, forecast=await self._forecast(name, plan), warnings=warnings)

    async def complete(self, text: str, line: int, column: int) -> Completion:
        """What can be written at that place; raises `Unavailable` where too many ask."""
        return await self._in_turn(lambda: complete(text, line, column))

    async def _forecast(self, name: str, plan: Plan) -> Forecast:
        recipes = {each.artifact: each.recipe for each in plan.trained}
        async with self._database.read() as session:
            models = Models(session)
            stored = await models.known(list(recipes))
            missing = [recipe for digest, recipe in recipes.items() if digest not in stored]
            alike = await models.like({(recipe.data.name, recipe.behaviour) for recipe in missing})
        took: dict[str, list[Trained]] = {}
        for recipe, seconds in alike:
            took.setdefault(trains_like(recipe), []).append((seconds, recipe.schedule.epochs))
        return await asyncio.to_thread(forecast, name, plan, stored, took)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        async with self._a_turn():
            return await asyncio.to_thread(work)

    @asynccontextmanager
    async def _a_turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._turn.acquire()
        except TimeoutError as error:
            raise Unavailable("too many scenarios are being checked", hint="ask again") from error
        try:
            yield
        finally:
            self._turn.release()


def _planned(body: bytes) -> tuple[str, Plan]:
    scenario = parse(body)
    return scenario.name, expand(scenario)
