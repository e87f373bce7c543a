"""Lets visitors try the models of a run: their sample is released under each defence, and each provider is
asked for what it made of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from leakrange.data import names
from leakrange.jobs.steps.stream import Session
from leakrange.scenario.plan import PlannedModel, PlannedPolicy
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import stored_plan
from leakrange.services.controller.range.together import together
from leakrange.services.controller.victim.demonstration import BEHAVIOURS, Demonstration, demonstrations
from leakrange.services.controller.victim.rows import rows
from leakrange.services.controller.victim.samples import named, offered, picture, sample_of
from leakrange.services.controller.victim.standing import StandingDemonstration, budget_of
from leakrange.store.engine import Database
from leakrange.store.runs import RunStore
from leakrange.store.trials import Trials
from leakrange.wire.errors import BudgetExhausted, Conflict, Forbidden, NotFound, Unauthenticated
from leakrange.wire.names import upload_name
from leakrange.wire.schemas import IntakeRecord
from leakrange.wire.tensors import to_text
from leakrange.wire.trying import Tried, Try, TryView

__all__ = ["SCENARIO", "NothingToTry", "VictimService"]

SCENARIO = "victim"
"""The ready scenario whose runs are made to be tried."""
NEWEST = 100
"""The number of newest runs among which one is sought that can be tried."""
REMEMBERED = 16
"""The number of runs whose standing models are remembered."""
AT_ONCE = 2


class NothingToTry(NotFound):
    """404: no run has models that a visitor could try."""

    slug, title = "nothing-to-try", "Nothing is trained that could be tried"
    default_hint = f"run the scenario {SCENARIO!r}: leakrange run scenarios/{SCENARIO}.yaml"


class VictimService:
    """``limit`` samples a day are released for all visitors together. ``keep`` are the seconds after which
    models are looked after again."""

    def __init__(self, database: Database, parties: Parties, *, limit: int, keep: float) -> None:
        self._database, self._parties, self._limit, self._keep = database, parties, limit, keep
        self._standing: dict[str, list[StandingDemonstration]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)

    async def stop(self) -> None:
        """Leave everything as it is."""
        for standings in self._standing.values():
            for standing in standings:
                await standing.stop()

    async def view(self, run: str | None = None, *, begin: bool = False) -> TryView:
        """The offers of a run to visitors, by default of the newest that has all behaviours. ``begin``: have
        it made ready. Raises `NotFound` for an unknown run, `NothingToTry` for one without such models."""
        try:
            standings = await self._of(run)
        except NothingToTry:
            if run is not None:
                raise
            return TryView(
                run=None, name=None, scenario=SCENARIO, offered=[], limit=self._limit, left=self._limit
            )
        if begin:
            for standing in standings:
                if not standing.stands:
                    standing.begin(_today())
        name = await self._name(standings[0].shown.run)
        offers = [await asyncio.to_thread(offered, standing) for standing in standings]
        return TryView(
            run=standings[0].shown.run,
            name=name,
            scenario=SCENARIO,
            offered=offers,
            limit=self._limit,
            left=await self._left(),
        )

    async def tried(self, asked: Try) -> Tried:
        """Release the visitor's sample; return what providers and attackers made of it.

        Raises `NothingToTry`, `NotFound`, `InvalidInput` and `MalformedBody` if it is no such sample, and
        `BudgetExhausted` if today's samples do not suffice.
        """
        begun = time.monotonic()
        standing = await self._named(asked)
        sample, truth = await asyncio.to_thread(sample_of, standing.shown, asked)
        async with self._room:
            await standing.ready(_today())
            await self._afford(standing.shown.costs)
            try:
                records = await self._released(standing, sample)
            except (NotFound, Unauthenticated, Forbidden):  # a party was emptied or restarted since
                standing.forget()
                await standing.ready(_today())
                records = await self._released(standing, sample)
        assumed = asked.drawing is not None and asked.digit is None
        if assumed:
            digit = _taken_for(standing.shown, records)
            if digit is not None:
                drawn = await asyncio.to_thread(
                    sample_of, standing.shown, asked.model_copy(update={"digit": digit})
                )
                truth = {
                    name: label for name, label in drawn[1].items() if name not in _asked(standing.shown)
                }
        released_rows = await asyncio.to_thread(rows, standing, records, sample, truth)
        classes = standing.shown.plan.classes[standing.shown.data]
        return Tried(
            run=standing.shown.run,
            data=standing.shown.data,
            sample=picture(sample),
            truth=named(truth, classes),
            assumed=assumed,
            rows=released_rows,
            limit=self._limit,
            left=await self._left(),
            seconds=round(time.monotonic() - begun, 3),
        )

    async def _released(
        self, standing: StandingDemonstration, sample: NDArray[np.uint8]
    ) -> dict[tuple[str, str], IntakeRecord]:
        """The data that each provider received, by model and defence."""
        shown = standing.shown
        cells = [
            (model, policy)
            for policy in shown.defences
            for model in shown.models
            if shown.stream(model, policy) is not None
        ]
        records = await together(self._release(standing, model, policy, sample) for model, policy in cells)
        return {
            (model.id, policy.defence): record for (model, policy), record in zip(cells, records, strict=True)
        }

    async def _release(
        self,
        standing: StandingDemonstration,
        model: PlannedModel,
        policy: PlannedPolicy,
        sample: NDArray[np.uint8],
    ) -> IntakeRecord:
        parties, stream = self._parties, standing.shown.stream(model, policy)
        assert stream is not None
        served_as, upload = model.served_as(parties.names), uuid4().hex
        order = Session(
            url=parties.proxy_for_clients,
            api_key=standing.keys[policy.defence],
            model=served_as,
            release=model.release,
            samples=to_text(sample[None]),
            upload=upload,
            defence=stream.local.spec(),
        )
        await parties.edge.session(order, standing.shown.run)
        account = standing.account(_today(), policy.defence)
        return await parties.providers.intake(model.plays, served_as, upload_name(account, upload))

    async def _afford(self, costs: int) -> None:
        remaining = await self._left()
        if remaining < costs:
            raise BudgetExhausted(
                f"a try takes {costs} samples, and visitors have {remaining} of {self._limit:,} left today",
                hint="come back tomorrow (UTC), or have the operator raise LEAKRANGE_TRY_SAMPLES",
                asked=costs,
                remaining=remaining,
            )

    async def _left(self) -> int:
        try:
            limit = await self._parties.proxy.limit(budget_of(_today()))
        except NotFound:
            return self._limit
        return max(0, self._limit - sum(limit.used.values()))

    async def _named(self, asked: Try) -> StandingDemonstration:
        standings = await self._of(asked.run)
        for standing in standings:
            if standing.shown.data == asked.data:
                return standing
        there = ", ".join(standing.shown.data for standing in standings)
        raise NotFound(f"nothing of the data {asked.data!r} can be tried; there is {there}")

    async def _name(self, run: str) -> str:
        async with self._database.read() as session:
            return (await RunStore(session).get(run)).name

    async def _of(self, run: str | None) -> list[StandingDemonstration]:
        """The demonstrations of a run. Raises `NotFound`, `NothingToTry`."""
        if run is not None:
            standings = await self._of_run(run)
            if not standings:
                raise NothingToTry(f"the run {run} has no models that a visitor could try")
            return standings
        async with self._database.read() as session:
            rows, _ = await RunStore(session).page(limit=NEWEST)
            ended = [row for row in rows if row.state == "done" and _all_behaviours(row.scenario)]
            ended.sort(key=lambda row: row.name != SCENARIO)  # newest first, and those made for it before
            candidates = [row.id for row in ended]
        for each in candidates:
            with suppress(Conflict):  # of another version
                if standings := await self._of_run(each):
                    return standings
        raise NothingToTry("no run that has ended has models that a visitor could try")

    async def _of_run(self, run: str) -> list[StandingDemonstration]:
        if run not in self._standing:
            async with self._database.read() as session:
                record = await RunStore(session).get(run)
                if record.state != "done":
                    raise NothingToTry(
                        f"the run {run} is {record.state}", hint="its models can be tried when it is done"
                    )
                plan = await stored_plan(session, run, trials=True)
                results = [TrialResult.model_validate(each) for each in await Trials(session).of_run(run)]
            by_id = {result.id: result.model_copy(update={"views": {}}) for result in results}
            standings = [
                StandingDemonstration(shown, by_id, self._parties, self._limit, self._keep)
                for shown in demonstrations(run, plan)
            ]
            if len(self._standing) >= REMEMBERED:
                del self._standing[next(iter(self._standing))]  # those who wait for it go on
            self._standing.setdefault(run, standings)
        return self._standing[run]


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _all_behaviours(scenario: Mapping[str, object]) -> bool:
    """Whether the scenario has providers of all three; plans are large, and only those are read."""
    providers = scenario.get("providers")
    if not isinstance(providers, dict):
        return False
    played = {
        str(each.get("behaviour")).partition("/")[0] for each in providers.values() if isinstance(each, dict)
    }
    return set(BEHAVIOURS) <= played


def _asked(shown: Demonstration) -> set[str]:
    """The attributes that providers are asked for."""
    return {name for model in shown.models for name in names(model.target)}


def _taken_for(shown: Demonstration, records: Mapping[tuple[str, str], IntakeRecord]) -> int | None:
    """The digit that the first provider took an undefended drawing for; None if it is not asked for a
    digit."""
    model = shown.models[0]
    if model.target != "digit":
        return None
    record = records.get((model.id, shown.defences[0].defence))
    return None if record is None else int(np.ravel(record.decisions[0])[0])
