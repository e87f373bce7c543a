"""Runs in the database: created, listed, moved from state to state."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import SQLColumnExpression, delete, func, or_, select
from sqlalchemy.orm import defer

from leakrange.store.rows import DatedRows
from leakrange.store.tables import PlanRow, RunRow, now
from leakrange.wire.runs import FINAL, State

__all__ = ["FINAL", "Order", "RunStore"]

Order = Literal["name", "state", "leak", "created"]
_BY: Mapping[Order, SQLColumnExpression[Any]] = {
    "name": func.lower(RunRow.name),
    "state": RunRow.state,
    "leak": RunRow.leak["rank"].as_float(),
    "created": RunRow.created,
}

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
    unlisted = (RunRow.scenario_yaml, RunRow.environment)
    listed_by = "'leakrange runs' lists the runs"

    async def create(
        self,
        name: str,
        *,
        scenario_yaml: str,
        scenario: dict[str, Any],
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
            origin=origin,
        )
        self.session.add(run)
        await self.session.flush()
        return run

    async def put_plan(
        self, run_id: str, plan: dict[str, Any], environment: dict[str, Any] | None = None
    ) -> None:
        """Store the plan of a run, and the ``environment`` in which it was made, behind the last of its
        trials. Raises `NotFound`."""
        (await self.get(run_id)).environment = environment or {}
        self.session.add(PlanRow(run_id=run_id, plan=plan))
        await self.session.flush()

    async def remove(self, run_id: str) -> None:
        """Remove a run with everything that belongs to it."""
        await self.session.execute(delete(RunRow).where(RunRow.id == run_id))

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

    async def sorted(
        self, by: Order, *, down: bool, text: str = "", state: State | None = None, limit: int, start: int
    ) -> tuple[Sequence[RunRow], int]:
        """Return up to ``limit`` runs from number ``start`` on, without their scenarios, and how many
        there are: those in the ``state`` whose name or id contains the ``text``, ordered ``by`` a
        column; the newest first of equal ones, and last those without a value."""
        wanted = [
            or_(RunRow.name.icontains(text, autoescape=True), RunRow.id.contains(text, autoescape=True))
        ]
        if state is not None:
            wanted.append(RunRow.state == state)
        column = _BY[by].desc() if down else _BY[by].asc()
        query = select(RunRow).options(*map(defer, (*self.unlisted, RunRow.scenario))).where(*wanted)
        query = query.order_by(column.nulls_last(), RunRow.created.desc(), RunRow.id.desc())
        rows = (await self.session.scalars(query.limit(limit).offset(start))).all()
        total = await self.session.scalar(select(func.count()).select_from(RunRow).where(*wanted))
        return rows, total or 0

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

    async def move(
        self, run_id: str, to: State, *, error: str | None = None, leak: dict[str, Any] | None = None
    ) -> bool:
        """Move a run on; True if this call did it, False if its state does not lead there (so a repetition
        changes nothing). A finished run keeps its ``error`` and its worst ``leak``.

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
            run.finished, run.error, run.leak = now(), error, leak
        if run.finished and run.started:
            run.seconds = (run.finished - run.started).total_seconds()
        await self.session.flush()
        return True
