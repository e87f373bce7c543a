"""Results of trials, the ground truth of users, and the spending of API keys."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, repeat
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import JSON, ColumnElement, and_, bindparam, column, func, or_, select, true, update

from leakrange.jobs.steps.stream import SessionReply
from leakrange.store.rows import Rows
from leakrange.store.tables import LedgerRow, TrialRow, TruthRow, now
from leakrange.wire.errors import NotFound

__all__ = ["ALL", "CellName", "Ledger", "Names", "StoredCell", "Trials", "Truths"]


Names = Mapping[str, Collection[str]]
"""The names to keep of each of "provider", "defence" and "attack"; all where there are none."""
ALL: Names = MappingProxyType({})
OPEN = ("queued", "running")


class StoredCell(NamedTuple):
    """The main metric of one cell of a matrix, over the ``seeds`` that have it: the mean, and
    the sum of the squared distances from 0. ``rest`` is its knowledge, budget and hidden attribute."""

    provider: str
    defence: str
    attack: str
    rest: str
    seeds: int
    mean: float
    squares: float

    @property
    def deviation(self) -> float | None:
        """The sample deviation over seeds; None of a single one."""
        if self.seeds < 2:
            return None
        return math.sqrt(max(0.0, self.squares - self.seeds * self.mean**2) / (self.seeds - 1))


CellName = tuple[str, str, str, str]
"""What trials of one cell share: provider, defence, attack, and the rest as `StoredCell` has it."""
CELLS_AT_ONCE = 200


class Trials(Rows):
    """Trial results by run and trial id."""

    async def add(
        self,
        run_id: str,
        results: Iterable[tuple[str, dict[str, Any]]],
        planned: Iterable[dict[str, Any] | None] = repeat(None),
    ) -> int:
        """Add trials with what they have instead of a result so far, and what else is ``planned`` of each;
        existing ones stay unchanged. Returns how many were new."""
        rows = [
            {"run_id": run_id, "trial": trial, "result": result, "planned": plan, **_short(result)}
            for (trial, result), plan in zip(results, planned, strict=False)
        ]
        return await self.insert_new(TrialRow, rows, TrialRow.run_id, TrialRow.trial)

    async def put(self, run_id: str, results: Mapping[str, tuple[dict[str, Any], float | None]]) -> None:
        """Set the results of trials that were added, each with the value of its main metric; putting one
        again replaces it."""
        values: dict[str, Any] = {each: bindparam(f"new_{each}") for each in ("result", "state", "leakage")}
        mine = TrialRow.run_id == run_id, TrialRow.trial == bindparam("name")
        rows = [
            {"name": name, "new_result": result, "new_state": result["state"], "new_leakage": leakage}
            for name, (result, leakage) in results.items()
        ]
        connection = await self.session.connection()
        await connection.execute(update(TrialRow).where(*mine).values(values), rows)

    async def cancel(self, run_id: str) -> None:
        """Mark the trials of a run that have no result yet as cancelled."""
        change = update(TrialRow).where(TrialRow.run_id == run_id, TrialRow.state.in_(OPEN))
        change = change.values(state="cancelled").execution_options(synchronize_session=False)
        await self.session.execute(change)

    async def of_run(self, run_id: str, names: Names = ALL) -> list[dict[str, Any]]:
        """The results of a run, or of what has these ``names``, in the order of its matrix."""
        return [result for _, result in await self.page(run_id, names)]

    async def page(
        self, run_id: str, names: Names = ALL, *, after: int = 0, limit: int | None = None
    ) -> list[tuple[int, dict[str, Any]]]:
        """The same, at most ``limit`` of those behind the place ``after``, each with its place."""
        query = select(TrialRow.id, TrialRow.result, TrialRow.state).where(*_of(run_id, names))
        query = query.where(TrialRow.id > after).order_by(TrialRow.id).limit(limit)
        rows = (await self.session.execute(query)).all()
        return [
            # A million trials are cancelled without a look at what they have.
            (place, result | {"state": state} if state == "cancelled" else result)
            for place, result, state in rows
        ]

    async def planned(
        self, run_id: str, *, but: Collection[str] = (), after: int = 0, limit: int | None = None
    ) -> list[tuple[int, dict[str, Any]]]:
        """The trials of a run as they were planned, at most ``limit`` behind the place ``after``, each with
        its place. ``but``: not those in these states."""
        query = select(TrialRow.id, TrialRow.result, TrialRow.planned).where(
            TrialRow.run_id == run_id, TrialRow.id > after, TrialRow.state.not_in(but)
        )
        query = query.where(TrialRow.planned.is_not(None)).order_by(TrialRow.id).limit(limit)
        unjudged: dict[str, Any] = {"state": "queued", "metrics": {}, "views": {}}
        unjudged |= dict.fromkeys(("error", "victims", "spent"))
        return [
            (place, planned | {"result": result | unjudged})
            for place, result, planned in (await self.session.execute(query)).all()
        ]

    async def choices(self, run_id: str) -> dict[str, dict[str, int]]:
        """By "provider", "defence" and "attack" the names in a run, in the order of its matrix, each with its
        number of trials."""
        counted = {}
        for name in (TrialRow.provider, TrialRow.defence, TrialRow.attack):
            query = select(name, func.count()).where(TrialRow.run_id == run_id).group_by(name)
            rows = await self.session.execute(query.order_by(func.min(TrialRow.id)))
            counted[name.key] = {str(each): int(number) for each, number in rows}
        return counted

    async def count(self, run_id: str, names: Names = ALL) -> int:
        """The number of trials of a run, or of what has these ``names``."""
        query = select(func.count()).select_from(TrialRow).where(*_of(run_id, names))
        return await self.session.scalar(query) or 0

    async def worst(self, run_id: str) -> list[StoredCell]:
        """Of each attack on each provider behind each defence the cell with the greatest mean over seeds of
        the main metric, the greatest first. The database does the sums."""
        party = TrialRow.provider, TrialRow.defence, TrialRow.attack
        value = TrialRow.leakage
        mean = func.avg(value).label("mean")
        order = func.row_number().over(partition_by=party, order_by=(mean.desc(), TrialRow.cell))
        figures = func.count(value), mean, func.sum(value * value), order.label("place")
        cells = select(*party, TrialRow.cell, *figures).where(TrialRow.run_id == run_id, value.is_not(None))
        best = cells.group_by(*party, TrialRow.cell).subquery()
        query = select(*list(best.c)[:-1]).where(best.c.place == 1).order_by(best.c.mean.desc())
        return [StoredCell(*row) for row in (await self.session.execute(query)).all()]

    async def at_largest_budgets(self, run_id: str) -> dict[CellName, int]:
        """Of each attack on each attribute of each provider behind each defence the cells of the largest
        budget that has a value of the main metric, each with its number of trials. Verdicts are about these
        (`leakrange.report.findings`)."""
        name = TrialRow.provider, TrialRow.defence, TrialRow.attack, TrialRow.cell
        query = select(*name, func.count(), func.count(TrialRow.leakage)).where(TrialRow.run_id == run_id)
        cells: dict[tuple[str, ...], dict[CellName, int]] = {}
        largest: dict[tuple[str, ...], int] = {}
        for *party, cell, trials, values in await self.session.execute(query.group_by(*name)):
            # Trials that were stored before cells had names have none.
            _, budget, hidden = cell.split(", ", 2) if cell else ("", "0", "")
            group = *party, hidden
            if not values or int(budget) < largest.get(group, 0):
                continue
            if int(budget) > largest.get(group, -1):
                largest[group], cells[group] = int(budget), {}
            provider, defence, attack = party
            cells[group][provider, defence, attack, cell] = trials
        return {cell: trials for each in cells.values() for cell, trials in each.items()}

    async def of_cells(self, run_id: str, cells: Iterable[CellName]) -> list[dict[str, Any]]:
        """The results of these cells of a run, in the order of its matrix."""
        name = TrialRow.run_id, TrialRow.provider, TrialRow.defence, TrialRow.attack, TrialRow.cell
        placed: list[tuple[int, dict[str, Any]]] = []
        names = iter(cells)
        while some := list(islice(names, CELLS_AT_ONCE)):
            # Each cell whole: SQLite finds no list of them by the index, and would read all of the run.
            each = (
                and_(*(part == value for part, value in zip(name, (run_id, *cell), strict=True)))
                for cell in some
            )
            rows = await self.session.execute(select(TrialRow.id, TrialRow.result).where(or_(*each)))
            placed += [(place, result) for place, result in rows]
        return [result for _, result in sorted(placed, key=itemgetter(0))]

    async def measured(self, run_id: str, names: Names = ALL) -> dict[str, bool]:
        """The metrics that any trial has, and whether any has an interval of it."""
        metric = func.json_each(TrialRow.result["metrics"]).table_valued("key", column("value", JSON))
        low = metric.c.value["low"].as_string()
        query = select(metric.c.key, func.count(low)).select_from(TrialRow).join(metric, true())
        rows = await self.session.execute(query.where(*_of(run_id, names)).group_by(metric.c.key))
        return {str(name): number > 0 for name, number in rows}

    async def first_error(self, run_id: str, *but: str) -> str | None:
        """The error of the first trial that is in none of these states."""
        query = select(TrialRow.result["error"].as_string()).order_by(TrialRow.id).limit(1)
        return await self.session.scalar(query.where(TrialRow.run_id == run_id, TrialRow.state.not_in(but)))

    async def tally(self, runs: Sequence[str]) -> dict[str, dict[str, int]]:
        """Count the trials of each of several runs by state."""
        query = select(TrialRow.run_id, TrialRow.state, func.count()).where(TrialRow.run_id.in_(runs))
        counted: dict[str, dict[str, int]] = {run: {} for run in runs}
        for run, name, number in await self.session.execute(query.group_by(TrialRow.run_id, TrialRow.state)):
            counted[run][name] = number
        return counted


def _short(result: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: result.get(name, "") for name in ("provider", "defence", "attack")}
    cell = ", ".join(str(result.get(name, "")) for name in ("knowledge", "budget", "sensitive"))
    return names | {"cell": cell, "state": result.get("state", "queued")}


def _of(run_id: str, names: Names) -> list[ColumnElement[bool]]:
    kept = [getattr(TrialRow, name).in_(chosen) for name, chosen in names.items() if chosen]
    return [TrialRow.run_id == run_id, *kept]


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
