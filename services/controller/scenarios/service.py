"""Checks and completes scenarios, by processes with limits on time and memory."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from pydantic import BaseModel

from leakrange.scenario.completion import Completion
from leakrange.scenario.forecast import Forecast, Outlook, Trained, forecast, trains_like
from leakrange.scenario.yaml_source import MAX_BYTES
from leakrange.services.controller.beside import Beside
from leakrange.services.controller.scenarios.schemas import (
    Asked,
    Changes,
    Checked,
    Checking,
    Differing,
    Mistake,
    Planned,
    Writing,
)
from leakrange.services.controller.turns import Turns
from leakrange.store.engine import Database
from leakrange.store.models import Models
from leakrange.wire.errors import BodyTooLarge, LeakrangeError, Unavailable

__all__ = ["ScenarioService"]

Schema = TypeVar("Schema", bound=BaseModel)
VIEWERS, OPERATORS = 2, 1
"""The number of scenarios that are checked at once. Viewers cannot take the turns of operators."""
SECONDS = 10
"""The seconds of processor time for one check."""
MEMORY = 2**30
"""The bytes of data for one check, including those that all share."""


class _TooMuch(Exception):
    """A process has ended without an answer, because it took too much."""


class ScenarioService:
    """One per controller. Make it inside the running event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._desk = Beside("leakrange.services.controller.scenarios.desk")
        self._plans: dict[str, Planned] = {}
        """Of ready scenarios, by their text."""
        busy = "too many scenarios are being checked"
        self._viewers, self._operators = Turns(VIEWERS, busy), Turns(OPERATORS, busy)

    async def check(self, body: bytes, *, operates: bool) -> Checked:
        """Every mistake of a scenario, or what a run of it will take, for an operator or somebody else.
        Raises `BodyTooLarge`, and `Unavailable` where too many ask."""
        if len(body) > 4 * MAX_BYTES:
            raise BodyTooLarge(f"a scenario may have {MAX_BYTES} characters", hint="is this a scenario?")
        return await self._told(await self._planned(body, operates=operates))

    async def cost(self, text: str, *, operates: bool) -> Forecast | None:
        """What a run of a ready scenario will take; None where it has mistakes. It is planned once."""
        if text not in self._plans:
            self._plans[text] = await self._planned(text.encode(), operates=operates)
        return (await self._told(self._plans[text])).forecast

    async def _planned(self, body: bytes, *, operates: bool) -> Planned:
        """The plan of a scenario, or its mistakes."""
        try:
            return await self._asked(Checking(text=body.decode("latin-1")), Planned, operates=operates)
        except _TooMuch:
            mistake = Mistake(
                line=None,
                column=None,
                path="",
                message=f"checking this takes more than {SECONDS} s of a processor or {MEMORY >> 20} MiB: "
                "take fewer trials, repeats or samples",
                allowed=[],
                suggestion=None,
            )
            return Planned(mistakes=[mistake])

    async def _told(self, planned: Planned) -> Checked:
        if planned.outlook is None:
            return Checked(valid=False, mistakes=planned.mistakes)
        expected = await self._forecast(planned.outlook)
        return Checked(valid=True, forecast=expected, warnings=planned.outlook.warnings)

    async def complete(self, writing: Writing, *, operates: bool) -> Completion:
        """The texts that can be written at that place; none if that takes too long to find out. Raises
        `Unavailable` if too many ask."""
        try:
            return await self._asked(writing, Completion, operates=operates)
        except _TooMuch:
            return Completion(line=writing.line, start=writing.column, end=writing.column)

    async def changes(self, before: str, after: str, *, operates: bool) -> list[tuple[str, str]]:
        """The lines of a difference, each with what it is: "gone", "new", "same" or "where". Raises
        `Unavailable` where too many ask."""
        try:
            answer = await self._asked(Differing(before=before, after=after), Changes, operates=operates)
        except _TooMuch:
            return [("same", "too much differs to be listed")]
        return answer.lines

    async def stop(self) -> None:
        """End the process that checks."""
        await self._desk.close()

    async def _forecast(self, planned: Outlook) -> Forecast:
        async with self._database.read() as session:
            models = Models(session)
            stored = await models.known(list(planned.trainings))
            missing = [each for digest, each in planned.trainings.items() if digest not in stored]
            alike = await models.like({(each.data, each.behaviour) for each in missing})
        took: dict[str, list[Trained]] = {}
        for recipe, seconds in alike:
            took.setdefault(trains_like(recipe), []).append((seconds, recipe.schedule.epochs))
        return await asyncio.to_thread(forecast, planned, stored, took)

    async def _asked(
        self, what: Writing | Checking | Differing, schema: type[Schema], *, operates: bool
    ) -> Schema:
        async with (self._operators if operates else self._viewers).turn():
            asked = Asked(what=what, seconds=SECONDS, memory=MEMORY)
            try:
                answer = await self._desk.answered(self._exchanged(asked.model_dump_json().encode()))
            except OSError as error:
                raise Unavailable("the process that checks scenarios has ended", hint="ask again") from error
        if answer == b"!":
            raise LeakrangeError("an error that nobody foresaw; the service's log tells more")
        if not answer:
            raise _TooMuch
        return schema.model_validate_json(answer)

    async def _exchanged(self, asked: bytes) -> bytes:
        reading, writing = await asyncio.open_unix_connection(self._desk.place)
        try:
            writing.write(asked)
            writing.write_eof()
            return await reading.read()
        finally:
            writing.close()
