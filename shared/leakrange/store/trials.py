"""Results of trials, the ground truth of users, and the spending of API keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, select, update

from leakrange.jobs.steps.stream import SessionReply
from leakrange.store.rows import Rows
from leakrange.store.tables import LedgerRow, TrialRow, TruthRow, now
from leakrange.wire.errors import NotFound

__all__ = ["Ledger", "Trials", "Truths"]


class Trials(Rows):
    """Trial results by run and trial id."""

    async def add(self, run_id: str, results: Iterable[tuple[str, dict[str, Any]]]) -> int:
        """Add the run's trials before they have a result; existing ones stay unchanged. Returns how many were
        new."""
        rows = [{"run_id": run_id, "trial": trial, "result": result} for trial, result in results]
        return await self.insert_new(TrialRow, rows, TrialRow.run_id, TrialRow.trial)

    async def put(self, run_id: str, trial: str, result: dict[str, Any]) -> None:
        """Set the result of a trial that was added; putting it again replaces it."""
        change = (
            update(TrialRow).where(TrialRow.run_id == run_id, TrialRow.trial == trial).values(result=result)
        )
        await self.session.execute(change.execution_options(synchronize_session=False))

    async def cancel(self, run_id: str) -> None:
        """Mark the trials of a run that have no result yet as cancelled."""
        query = select(TrialRow).where(TrialRow.run_id == run_id).with_for_update()
        for trial in (await self.session.scalars(query)).all():
            if trial.result["state"] in ("queued", "running"):
                trial.result = {**trial.result, "state": "cancelled"}

    async def of_run(self, run_id: str) -> Sequence[dict[str, Any]]:
        """All results of a run in the order of its matrix."""
        query = select(TrialRow.result).where(TrialRow.run_id == run_id).order_by(TrialRow.id)
        return (await self.session.scalars(query)).all()

    async def tally(self, runs: Sequence[str]) -> dict[str, dict[str, int]]:
        """Count the trials of each of several runs by state."""
        state = TrialRow.result["state"].as_string().label("state")
        states = select(TrialRow.run_id, state).where(TrialRow.run_id.in_(runs)).subquery()
        query = select(states.c.run_id, states.c.state, func.count()).group_by(
            states.c.run_id, states.c.state
        )
        counted: dict[str, dict[str, int]] = {run: {} for run in runs}
        for run, name, number in await self.session.execute(query):
            counted[run][name] = number
        return counted


class Truths(Rows):
    """Ground truth by run and upload; the first registration stands."""

    async def add(self, run_id: str, upload: str, reply: SessionReply) -> bool:
        """Register an upload; False, and nothing changes, if it is registered already."""
        row = reply.model_dump(include={"labels", "decisions", "input_bytes", "sent_bytes"})
        row |= {"run_id": run_id, "upload": upload}
        return await self.insert_new(TruthRow, [row], TruthRow.run_id, TruthRow.upload) == 1

    async def get(self, run_id: str, upload: str) -> TruthRow:
        """Return what was registered for an upload; raises `NotFound`."""
        query = select(TruthRow).where(TruthRow.run_id == run_id, TruthRow.upload == upload)
        truth = await self.session.scalar(query)
        if truth is None:
            raise NotFound(f"no ground truth was registered for upload {upload!r}")
        return truth


class Ledger(Rows):
    """The latest account of each API key of a run."""

    async def open(self, run_id: str, name: str, *, policy: str, budget: int) -> bool:
        """Add the account of an unused key; False, and nothing changes, if it exists already."""
        row = {"run_id": run_id, "name": name, "policy": policy, "budget": budget}
        row |= {"spent": 0, "distinct": 0, "seen": now()}
        return await self.insert_new(LedgerRow, [row], LedgerRow.run_id, LedgerRow.name) == 1

    async def of_run(self, run_id: str) -> Sequence[LedgerRow]:
        """All keys of a run by name."""
        query = select(LedgerRow).where(LedgerRow.run_id == run_id).order_by(LedgerRow.name)
        return (await self.session.scalars(query.execution_options(populate_existing=True))).all()
