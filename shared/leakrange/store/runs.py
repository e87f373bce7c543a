"""Runs in the database: created, listed, moved from state to state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import func, select

from leakrange.store.rows import DatedRows
from leakrange.store.tables import PlanRow, RunRow, now
from leakrange.wire.runs import FINAL, State

__all__ = ["FINAL", "RunStore"]

_FROM: dict[State, tuple[State, ...]] = {
    "queued": (),
    "running": ("queued",),
    "done": ("running",),
    "failed": ("queued", "running"),
    "cancelled": ("queued", "running"),
}


class RunStore(DatedRows[RunRow]):
    """Runs by id."""

    table, noun = RunRow, "run"

    async def create(
        self,
        name: str,
        *,
        scenario_yaml: str,
        scenario: dict[str, Any],
        plan: dict[str, Any] | None = None,
        environment: dict[str, Any] | None = None,
        origin: str | None = None,
    ) -> RunRow:
        """Add a queued run; ``origin`` is the run that its scenario was taken from."""
        created = now()
        run = RunRow(
            id=self.new_id(created),
            name=name,
            scenario_yaml=scenario_yaml,
            scenario=scenario,
            created=created,
            environment=environment or {},
            origin=origin,
        )
        self.session.add(run)
        await self.session.flush()
        if plan is not None:
            self.session.add(PlanRow(run_id=run.id, plan=plan))
            await self.session.flush()
        return run

    async def plan(self, run_id: str) -> dict[str, Any] | None:
        """The plan that was stored with the run; raises `NotFound`."""
        await self.get(run_id)
        return await self.session.scalar(select(PlanRow.plan).where(PlanRow.run_id == run_id))

    async def under_load(self, run_id: str) -> bool:
        """Return whether the run had load users, by its plan; raises `NotFound`."""
        await self.get(run_id)
        load = select(PlanRow.plan["load"]).where(PlanRow.run_id == run_id)
        return await self.session.scalar(load) is not None

    async def taken_from(self, run_ids: Collection[str]) -> dict[str, list[str]]:
        """Return for each of these runs the runs whose scenarios were copied from it, oldest first."""
        successors: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
        query = (
            select(RunRow.origin, RunRow.id)
            .where(RunRow.origin.in_(run_ids))
            .order_by(RunRow.created, RunRow.id)
        )
        for origin, run_id in (await self.session.execute(query)).all():
            successors[str(origin)].append(run_id)
        return successors

    async def latest(self, name: str, *states: State) -> RunRow | None:
        """Return the newest run of that name in one of the states."""
        query = select(RunRow).where(RunRow.name == name, RunRow.state.in_(states))
        newest = query.order_by(RunRow.created.desc(), RunRow.id.desc()).limit(1)
        return (await self.session.scalars(newest)).one_or_none()

    async def unfinished(self) -> Sequence[RunRow]:
        """Return the runs that a starting controller has to continue, oldest first."""
        query = select(RunRow).where(RunRow.state.not_in(FINAL)).order_by(RunRow.created, RunRow.id)
        return (await self.session.scalars(query)).all()

    async def tally(self) -> dict[State, int]:
        """Count the runs by state; a state without runs is absent."""
        query = select(RunRow.state, func.count()).group_by(RunRow.state)
        return {row[0]: row[1] for row in await self.session.execute(query)}

    async def move(self, run_id: str, to: State, *, error: str | None = None) -> bool:
        """Move a run on; True if this call did it, False if its state does not lead there (so a repetition
        changes nothing).

        Stamps ``started`` and ``finished``; ``seconds`` is the time between them. A finished run never
        moves again.
        """
        run = await self.session.get(RunRow, run_id, with_for_update=True, populate_existing=True)
        if run is None or run.state not in _FROM[to]:
            return False
        run.state = to
        if to == "running":
            run.started = now()
        if to in FINAL:
            run.finished, run.error = now(), error
        if run.finished and run.started:
            run.seconds = (run.finished - run.started).total_seconds()
        await self.session.flush()
        return True
