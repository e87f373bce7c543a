"""Runs in the database: created, listed, moved from state to state."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import undefer

from leakrange.store.tables import Run, RunState, now
from leakrange.wire.errors import InvalidInput, NotFound

__all__ = ["FINAL", "Runs"]

FINAL: frozenset[RunState] = frozenset({"done", "failed", "cancelled"})
_FROM: dict[RunState, tuple[RunState, ...]] = {
    "queued": (),
    "running": ("queued",),
    "done": ("running",),
    "failed": ("queued", "running"),
    "cancelled": ("queued", "running"),
}


class Runs:
    """Runs by id. Ids begin with the UTC time of creation, so that they sort and a person can tell them
    apart."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def create(
        self,
        name: str,
        *,
        scenario_yaml: str,
        scenario: dict[str, Any],
        plan: dict[str, Any] | None = None,
        environment: dict[str, Any] | None = None,
    ) -> Run:
        """Add a queued run."""
        created = now()
        run = Run(
            id=f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            name=name,
            scenario_yaml=scenario_yaml,
            scenario=scenario,
            plan=plan,
            created=created,
            environment=environment or {},
        )
        self.session.add(run)
        await self.session.flush()
        return run

    async def get(self, run_id: str) -> Run:
        """The run, without its plan; raises `NotFound`."""
        run = await self.session.get(Run, run_id)
        if run is None:
            raise NotFound(f"there is no run {run_id!r}", hint="GET /v1/runs lists the runs")
        return run

    async def plan(self, run_id: str) -> dict[str, Any] | None:
        """The plan that was stored with the run; raises `NotFound`."""
        query = select(Run).where(Run.id == run_id).options(undefer(Run.plan))
        run = (await self.session.scalars(query.execution_options(populate_existing=True))).one_or_none()
        if run is None:
            raise NotFound(f"there is no run {run_id!r}", hint="GET /v1/runs lists the runs")
        return run.plan

    async def page(
        self, *, limit: int = 50, after: str | None = None, state: RunState | None = None
    ) -> tuple[Sequence[Run], str | None]:
        """Newest first: up to ``limit`` runs older than run ``after``, and the ``after`` of the next page
        (None: no more).

        Raises `InvalidInput` where ``after`` names no run.
        """
        query = select(Run).order_by(Run.created.desc(), Run.id.desc()).limit(limit + 1)
        if state is not None:
            query = query.where(Run.state == state)
        if after is not None:
            last = await self.session.get(Run, after)
            if last is None:
                raise InvalidInput(f"'after' names no run: {after!r}", hint="take it from the previous page")
            query = query.where(tuple_(Run.created, Run.id) < tuple_(last.created, last.id))
        rows = (await self.session.scalars(query)).all()
        return rows[:limit], rows[limit - 1].id if len(rows) > limit else None

    async def unfinished(self) -> Sequence[Run]:
        """The runs that a starting controller has to continue, oldest first."""
        query = select(Run).where(Run.state.not_in(FINAL)).order_by(Run.created, Run.id)
        return (await self.session.scalars(query)).all()

    async def move(self, run_id: str, to: RunState, *, error: str | None = None) -> bool:
        """Move a run on; True if this call did it, False where it is not in a state that leads there (so
        twice is once).

        Stamps ``started`` and ``finished``; ``seconds`` is the time between them. A finished run never
        moves again.
        """
        values: dict[str, Any] = {"state": to}
        at = now()
        if to == "running":
            values["started"] = at
        if to in FINAL:
            values |= {"finished": at, "error": error}
        changed = await self.session.execute(
            update(Run)
            .where(Run.id == run_id, Run.state.in_(_FROM[to]))
            .values(**values)
            .returning(Run.started)
            .execution_options(synchronize_session=False)
        )
        row = changed.one_or_none()
        if row is None:
            return False
        if to in FINAL:
            await self._stamp(run_id, row.started, at)
        loaded = await self.session.get(Run, run_id)
        if loaded is not None:
            await self.session.refresh(loaded)
        return True

    async def _stamp(self, run_id: str, started: datetime | None, finished: datetime) -> None:
        if started is not None:
            await self.session.execute(
                update(Run)
                .where(Run.id == run_id)
                .values(seconds=(finished - started).total_seconds())
                .execution_options(synchronize_session=False)
            )
