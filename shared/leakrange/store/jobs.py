"""Jobs in the database: every change of state is one conditional update, so that a report that comes twice
counts once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, Update, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.store.insert import insert_new
from leakrange.store.tables import Job, JobKind, JobState, now

__all__ = ["Jobs"]

OPEN: tuple[JobState, ...] = ("pending", "dispatched")


class Jobs:
    """Jobs by run and identity. Methods that change a state return whether this call changed it."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def add(self, run_id: str, jobs: Iterable[tuple[str, JobKind, dict[str, Any]]]) -> int:
        """Add pending jobs (identity, kind, payload); those that the run has already are left as they are.
        Returns how many were new."""
        fresh = {"run_id": run_id, "state": "pending", "attempts": 0, "created": now()}
        rows = [{**fresh, "identity": name, "kind": kind, "payload": payload} for name, kind, payload in jobs]
        return await insert_new(self.session, Job, rows, (Job.run_id, Job.identity))

    async def of_run(self, run_id: str, *, states: Sequence[JobState] | None = None) -> Sequence[Job]:
        """The jobs of a run in the order in which they were added, as they are in the database now."""
        query = select(Job).where(Job.run_id == run_id).order_by(Job.id)
        if states is not None:
            query = query.where(Job.state.in_(states))
        return (await self.session.scalars(query.execution_options(populate_existing=True))).all()

    async def tally(self, runs: Sequence[str]) -> dict[str, dict[JobKind, dict[JobState, int]]]:
        """How many jobs of each kind are in each state, by run."""
        query = (
            select(Job.run_id, Job.kind, Job.state, func.count())
            .where(Job.run_id.in_(runs))
            .group_by(Job.run_id, Job.kind, Job.state)
        )
        counted: dict[str, dict[JobKind, dict[JobState, int]]] = {run: {} for run in runs}
        for run, kind, state, number in await self.session.execute(query):
            counted[run].setdefault(kind, {})[state] = number
        return counted

    async def claim(self, run_id: str, identity: str) -> bool:
        """pending → dispatched, one more attempt. Of several that try, exactly one gets it."""
        tried: dict[str, Any] = {"attempts": Job.attempts + 1, "finished": None, "error": None}
        return await self._move(run_id, identity, ("pending",), "dispatched", **tried)

    async def finish(self, run_id: str, identity: str, result: dict[str, Any]) -> bool:
        """Any unfinished state → done. A job that was cancelled or has failed for good stays so."""
        return await self._move(run_id, identity, OPEN, "done", finished=now(), result=result, error=None)

    async def fail(self, run_id: str, identity: str, error: str) -> bool:
        """Any unfinished state → failed."""
        return await self._move(run_id, identity, OPEN, "failed", finished=now(), error=error)

    async def retry(self, run_id: str, identity: str) -> bool:
        """dispatched or failed → pending, to be claimed again."""
        return await self._move(run_id, identity, ("dispatched", "failed"), "pending", finished=None)

    async def cancel(self, run_id: str) -> int:
        """Cancel all unfinished jobs of a run; returns how many."""
        change = update(Job).where(Job.run_id == run_id, Job.state.in_(OPEN))
        return await self._changed(change.values(state="cancelled", finished=now()))

    async def _move(
        self, run_id: str, identity: str, states: Sequence[JobState], to: JobState, **values: Any
    ) -> bool:
        change = update(Job).where(Job.run_id == run_id, Job.identity == identity, Job.state.in_(states))
        return await self._changed(change.values(state=to, **values)) == 1

    async def _changed(self, change: Update) -> int:
        result = await self.session.execute(change.execution_options(synchronize_session=False))
        return cast("CursorResult[Any]", result).rowcount
