"""The record of a run: its plan, as far as it fits into memory, and that of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.scenario.bounds import MAX_AT_ONCE
from leakrange.scenario.plan import Plan
from leakrange.store.runs import RunStore
from leakrange.store.trials import ALL, Names, Trials
from leakrange.wire.errors import Conflict
from leakrange.wire.events import Holder, Purpose

__all__ = ["StepRecord", "TooManyTrials", "check_few", "check_number", "stored_plan"]


class TooManyTrials(Conflict):
    """More trials than are shown together."""

    slug, title = "too-many-trials", "Too many trials at once"

    def __init__(self, run: str, count: int) -> None:
        super().__init__(
            f"this is about {count:,} trials of run {run}, and at most {MAX_AT_ONCE:,} are shown together",
            hint="name a provider, a defence or an attack (?provider=NAME&attack=NAME);"
            f" /v1/runs/{run}/overview says which there are, and /v1/runs/{run}/results?format=csv has all",
        )


async def check_few(session: AsyncSession, run: str, names: Names = ALL) -> None:
    """Raise `TooManyTrials` unless the trials of a run, or of what has these ``names``, fit into memory."""
    check_number(run, await Trials(session).count(run, names))


def check_number(run: str, count: int) -> None:
    """Raise `TooManyTrials` unless so many trials of a run fit into memory."""
    if count > MAX_AT_ONCE:
        raise TooManyTrials(run, count)


async def stored_plan(session: AsyncSession, run: str, *, trials: bool = False) -> Plan:
    """The plan of a run, with its ``trials`` if wanted. Raises `NotFound`, `Conflict` for a run that another
    version planned, and `TooManyTrials`."""
    stored, planned = await RunStore(session).plan(run), list[dict[str, Any]]()
    if stored is None:
        raise Conflict(f"run {run} was not planned to its end: run its scenario again")
    if trials:
        await check_few(session, run)
        planned = [trial for _, trial in await Trials(session).planned(run)]
    return await asyncio.to_thread(Plan.stored, stored, planned)


class StepRecord:
    """The record of each step. This one keeps nothing: it is for steps outside runs, such as those of audits
    and of the demonstration for visitors. A run has a `Journal`."""

    def __init__(self, run: str) -> None:
        self.run = run

    async def expect(self, kind: str, jobs: Mapping[str, Purpose]) -> None:
        """Record steps of a kind, by identity, that are going to be taken."""

    async def dispatch(self, identity: str, kind: str) -> None:
        """Record that a step begins: that it is sent to the fleet, or asked of users."""

    async def progress(
        self, identity: str, kind: str, share: float, message: str, figures: Mapping[str, float]
    ) -> None:
        """Tell listeners that a ``share`` in [0, 1] of a step is done, with the ``figures`` so far."""

    async def job_done(
        self, identity: str, kind: str, result: dict[str, Any], *, message: str, **more: Any
    ) -> None:
        """Record the end of a step. ``more`` are the further arguments of a journal."""

    async def job_failed(self, identity: str, kind: str, error: str) -> None:
        """Record the failure of a step; the trials that need it fail as well."""

    async def served(self, purpose: Purpose) -> None:
        """Tell listeners that a model can be asked."""

    async def open_account(
        self, name: str, *, policy: str, budget: int, holder: Holder, purpose: Purpose
    ) -> None:
        """Record an API key that its ``holder`` may use from now on, for ``budget`` samples."""

    async def accounts(self) -> list[str]:
        """The names of all API keys of the run, including those from before a restart."""
        return []

    async def settle_accounts(self, spent: Mapping[str, int]) -> None:
        """Store what each API key has ``spent``, in samples."""
