"""Results of trials, the users' ground truth they were judged by, and what the API keys spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.jobs.session import SessionReply
from leakrange.store.insert import insert_new
from leakrange.store.tables import LedgerEntry, Trial, Truth, now
from leakrange.wire.errors import NotFound

__all__ = ["Ledger", "Trials", "Truths"]


class Trials:
    """Trial results by run and trial id."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def add(self, run_id: str, results: Iterable[tuple[str, dict[str, Any]]]) -> int:
        """Add the run's trials before they have a result; those that are there stay as they are. Returns
        how many were new."""
        rows = [{"run_id": run_id, "trial": trial, "result": result} for trial, result in results]
        return await insert_new(self.session, Trial, rows, (Trial.run_id, Trial.trial))

    async def put(self, run_id: str, trial: str, result: dict[str, Any]) -> None:
        """Set the result of a trial that was added; putting it again replaces it."""
        change = update(Trial).where(Trial.run_id == run_id, Trial.trial == trial).values(result=result)
        await self.session.execute(change.execution_options(synchronize_session=False))

    async def cancel(self, run_id: str) -> None:
        """Mark the trials of a run that have no result yet as cancelled."""
        query = select(Trial).where(Trial.run_id == run_id).with_for_update()
        for trial in (await self.session.scalars(query)).all():
            if trial.result["state"] in ("queued", "running"):
                trial.result = {**trial.result, "state": "cancelled"}

    async def of_run(self, run_id: str) -> Sequence[dict[str, Any]]:
        """All results of a run in the order of its matrix."""
        query = select(Trial.result).where(Trial.run_id == run_id).order_by(Trial.id)
        return (await self.session.scalars(query)).all()

    async def tally(self, runs: Sequence[str]) -> dict[str, dict[str, int]]:
        """How many trials of each of several runs are in each state."""
        state = Trial.result["state"].as_string().label("state")
        states = select(Trial.run_id, state).where(Trial.run_id.in_(runs)).subquery()
        query = select(states.c.run_id, states.c.state, func.count()).group_by(
            states.c.run_id, states.c.state
        )
        counted: dict[str, dict[str, int]] = {run: {} for run in runs}
        for run, name, number in await self.session.execute(query):
            counted[run][name] = number
        return counted


class Truths:
    """Ground truth by run and upload; the first registration stands."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def add(self, run_id: str, upload: str, told: SessionReply) -> bool:
        """Register an upload; False, and nothing changes, where it is registered already."""
        row = told.model_dump(include={"labels", "decisions", "input_bytes", "sent_bytes"})
        row |= {"run_id": run_id, "upload": upload}
        return await insert_new(self.session, Truth, [row], (Truth.run_id, Truth.upload)) == 1

    async def get(self, run_id: str, upload: str) -> Truth:
        """What was registered of an upload; raises `NotFound`."""
        query = select(Truth).where(Truth.run_id == run_id, Truth.upload == upload)
        truth = await self.session.scalar(query)
        if truth is None:
            raise NotFound(f"no ground truth was registered for upload {upload!r}")
        return truth


class Ledger:
    """The latest account of each API key of a run."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def open(self, run_id: str, name: str, *, policy: str, budget: int) -> bool:
        """Add the account of a key under which nothing has been asked; False, and nothing changes, where it
        is there already."""
        row = {"run_id": run_id, "name": name, "policy": policy, "budget": budget}
        row |= {"spent": 0, "distinct": 0, "seen": now()}
        return await insert_new(self.session, LedgerEntry, [row], (LedgerEntry.run_id, LedgerEntry.name)) == 1

    async def of_run(self, run_id: str) -> Sequence[LedgerEntry]:
        """All keys of a run by name."""
        query = select(LedgerEntry).where(LedgerEntry.run_id == run_id).order_by(LedgerEntry.name)
        return (await self.session.scalars(query.execution_options(populate_existing=True))).all()
