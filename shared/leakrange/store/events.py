"""The ordered event stream of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select, update

from leakrange.store.rows import Rows
from leakrange.store.tables import EventRow, RunRow, now
from leakrange.wire.errors import NotFound

__all__ = ["Events"]


class Events(Rows):
    """Events by run and number."""

    async def append(self, run_id: str, kind: str, data: dict[str, Any]) -> None:
        """Add an event under the run's next number; raises `NotFound`."""
        await self.append_all(run_id, [(kind, data)])

    async def append_all(self, run_id: str, events: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Add events, each with its kind, under the run's next numbers; raises `NotFound`.

        The numbers come from the run's row, which stays locked until this transaction ends: so numbers have
        no gap (a rollback gives its numbers back) and nobody ever sees an event before all earlier ones.
        """
        if not events:
            return
        last = await self.session.scalar(
            update(RunRow)
            .where(RunRow.id == run_id)
            .values(events=RunRow.events + len(events))
            .returning(RunRow.events)
            .execution_options(synchronize_session=False)
        )
        if last is None:
            raise NotFound(f"there is no run {run_id!r}")
        first = last - len(events) + 1
        rows = [
            {"run_id": run_id, "seq": number, "kind": kind, "data": data, "at": now()}
            for number, (kind, data) in enumerate(events, first)
        ]
        await self.session.execute(insert(EventRow), rows)

    async def after(self, run_id: str, seq: int = 0, *, limit: int = 1000) -> Sequence[EventRow]:
        """Return the events that follow number ``seq`` (0: from the start), in order."""
        query = (
            select(EventRow)
            .where(EventRow.run_id == run_id, EventRow.seq > seq)
            .order_by(EventRow.seq)
            .limit(limit)
        )
        return (await self.session.scalars(query)).all()
