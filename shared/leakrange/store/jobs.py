"""Jobs in the database: every change of state is one conditional update, so that a report that comes twice
counts once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import CursorResult, Update, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.store.insert import insert_new
from leakrange.store.tables import Job, JobKind, JobState, now

__all__ = ["Jobs", "NewJob"]

OPEN: tuple[JobState, ...] = ("pending", "dispatched")


@dataclass(frozen=True)
class NewJob:
    """A job to be added as pending."""

    identity: str
    kind: JobKind
    payload: dict[str, Any]


class Jobs:
    """Jobs by run and identity. Methods that change a state return whether this call changed it."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def add(self, run_id: str, jobs: Iterable[NewJob]) -> int:
        """Add pending jobs; those that the run has already are left as they are. Returns how many were
        new."""
        rows = [
            {
                "run_id": run_id,
                "identity": job.identity,
                "kind": job.kind,
                "payload": job.payload,
                "state": "pending",
                "attempts": 0,
                "created": now(),
            }
            for job in jobs
        ]
        return await insert_new(self.session, Job, rows, (Job.run_id, Job.identity))

    async def get(self, run_id: str, identity: str) -> Job | None:
        """The job as it is in the database now."""
        query = select(Job).where(Job.run_id == run_id, Job.identity == identity)
        return await self.session.scalar(query.execution_options(populate_existing=True))

    async def of_run(
        self, run_id: str, *, states: Sequence[JobState] | None = None, kind: JobKind | None = None
    ) -> Sequence[Job]:
        """The jobs of a run in the order in which they were added."""
        query = select(Job).where(Job.run_id == run_id).order_by(Job.id)
        if states is not None:
            query = query.where(Job.state.in_(states))
        if kind is not None:
            query = query.where(Job.kind == kind)
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
        change = self._from(run_id, identity, ("pending",))
        return await self._done(
            change.values(state="dispatched", attempts=Job.attempts + 1, finished=None, error=None)
        )

    async def finish(self, run_id: str, identity: str, result: dict[str, Any]) -> bool:
        """Any unfinished state → done. A job that was cancelled or has failed for good stays so."""
        change = self._from(run_id, identity, OPEN)
        return await self._done(change.values(state="done", finished=now(), result=result, error=None))

    async def fail(self, run_id: str, identity: str, error: str) -> bool:
        """Any unfinished state → failed."""
        change = self._from(run_id, identity, OPEN)
        return await self._done(change.values(state="failed", finished=now(), error=error))

    async def retry(self, run_id: str, identity: str) -> bool:
        """dispatched or failed → pending, to be claimed again."""
        change = self._from(run_id, identity, ("dispatched", "failed"))
        return await self._done(change.values(state="pending", finished=None))

    async def cancel(self, run_id: str) -> int:
        """Cancel all unfinished jobs of a run; returns how many."""
        change = update(Job).where(Job.run_id == run_id, Job.state.in_(OPEN))
        return await self._changed(change.values(state="cancelled", finished=now()))

    def _from(self, run_id: str, identity: str, states: Sequence[JobState]) -> Update:
        return update(Job).where(Job.run_id == run_id, Job.identity == identity, Job.state.in_(states))

    async def _done(self, change: Update) -> bool:
        return await self._changed(change) == 1

    async def _changed(self, change: Update) -> int:
        result = await self.session.execute(change.execution_options(synchronize_session=False))
        return cast("CursorResult[Any]", result).rowcount
