"""Jobs in the database: every change of state is one conditional update, so that a report that comes twice
counts once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, Update, func, select, update

from leakrange.store.rows import Rows
from leakrange.store.tables import JobRow, JobState, now

__all__ = ["Jobs"]

OPEN: tuple[JobState, ...] = ("pending", "dispatched")


class Jobs(Rows):
    """Jobs by run and identity. Methods that change a state return whether this call changed it."""

    async def add(self, run_id: str, jobs: Iterable[tuple[str, str, dict[str, Any]]]) -> int:
        """Add pending jobs (identity, kind, payload); existing ones stay unchanged. Returns how many were
        new."""
        fresh = {"run_id": run_id, "state": "pending", "attempts": 0, "created": now()}
        rows = [{**fresh, "identity": name, "kind": kind, "payload": payload} for name, kind, payload in jobs]
        return await self.insert_new(JobRow, rows, JobRow.run_id, JobRow.identity)

    async def of_run(self, run_id: str, *, states: Sequence[JobState] | None = None) -> Sequence[JobRow]:
        """Return the jobs of a run in the order in which they were added, read anew from the database."""
        query = select(JobRow).where(JobRow.run_id == run_id).order_by(JobRow.id)
        if states is not None:
            query = query.where(JobRow.state.in_(states))
        return (await self.session.scalars(query.execution_options(populate_existing=True))).all()

    async def identities(self, run_id: str, *wanted: ColumnElement[bool]) -> set[str]:
        """The identities of the jobs of a run that are ``wanted``."""
        query = select(JobRow.identity).where(JobRow.run_id == run_id, *wanted)
        return set(await self.session.scalars(query))

    async def paid(self, run_id: str) -> dict[str, int]:
        """The samples that the finished jobs of a run brought in, by the API key that paid for them."""
        key, samples = JobRow.result["key"].as_string(), JobRow.result["samples"].as_integer()
        query = select(key, func.sum(samples)).where(JobRow.run_id == run_id, JobRow.state == "done")
        rows = await self.session.execute(query.where(key.is_not(None)).group_by(key))
        return {str(name): int(brought) for name, brought in rows}

    async def tally(self, runs: Sequence[str]) -> dict[str, dict[str, dict[JobState, int]]]:
        """Count the jobs by run, kind and state."""
        query = (
            select(JobRow.run_id, JobRow.kind, JobRow.state, func.count())
            .where(JobRow.run_id.in_(runs))
            .group_by(JobRow.run_id, JobRow.kind, JobRow.state)
        )
        counted: dict[str, dict[str, dict[JobState, int]]] = {run: {} for run in runs}
        for run, kind, state, number in await self.session.execute(query):
            counted[run].setdefault(kind, {})[state] = number
        return counted

    async def claim(self, run_id: str, identity: str) -> bool:
        """Move a job from pending to dispatched and count an attempt. Of several callers, exactly one
        succeeds."""
        return bool(await self.move_all(run_id, {identity}, {}))

    async def finish(self, run_id: str, identity: str, result: dict[str, Any]) -> bool:
        """Move a job from any unfinished state to done. A job that was cancelled or has failed for good stays
        so."""
        return bool(await self.move_all(run_id, (), {identity: result}))

    async def fail(self, run_id: str, identity: str, error: str) -> bool:
        """Move a job from any unfinished state to failed."""
        return await self._move(run_id, identity, OPEN, "failed", finished=now(), error=error)

    async def move_all(
        self, run_id: str, claimed: Collection[str], finished: Mapping[str, dict[str, Any]]
    ) -> set[str]:
        """Do `claim` and `finish` for many jobs, with the results of the ``finished`` by identity. Returns
        the identities of those whose state this call changed."""
        query = select(JobRow.id, JobRow.identity, JobRow.state).where(
            JobRow.run_id == run_id, JobRow.identity.in_([*claimed, *finished]), JobRow.state.in_(OPEN)
        )
        rows = (await self.session.execute(query.with_for_update())).all()
        begun = [(key, name) for key, name, state in rows if name in claimed and state == "pending"]
        ended = [(key, name) for key, name, _ in rows if name in finished]
        if begun:
            tried = {"state": "dispatched", "attempts": JobRow.attempts + 1, "finished": None, "error": None}
            await self._changed(
                update(JobRow).where(JobRow.id.in_([key for key, _ in begun])).values(**tried)
            )
        if ended:
            last = {"state": "done", "finished": now(), "error": None}
            await self.session.execute(
                update(JobRow), [{"id": key, "result": finished[name], **last} for key, name in ended]
            )
        return {name for _, name in (*begun, *ended)}

    async def retry(self, run_id: str, identity: str) -> bool:
        """Move a job from dispatched or failed to pending, to be claimed again."""
        return await self._move(run_id, identity, ("dispatched", "failed"), "pending", finished=None)

    async def cancel(self, run_id: str) -> int:
        """Cancel all unfinished jobs of a run; returns how many."""
        change = update(JobRow).where(JobRow.run_id == run_id, JobRow.state.in_(OPEN))
        return await self._changed(change.values(state="cancelled", finished=now()))

    async def _move(
        self, run_id: str, identity: str, states: Sequence[JobState], to: JobState, **values: Any
    ) -> bool:
        change = update(JobRow).where(
            JobRow.run_id == run_id, JobRow.identity == identity, JobRow.state.in_(states)
        )
        return await self._changed(change.values(state=to, **values)) == 1

    async def _changed(self, change: Update) -> int:
        result = await self.session.execute(change.execution_options(synchronize_session=False))
        return cast("CursorResult[Any]", result).rowcount
