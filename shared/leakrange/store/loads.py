"""Results of load tests in runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from leakrange.store.rows import Rows
from leakrange.store.tables import LoadRow

__all__ = ["Loads"]


class Loads(Rows):
    """Results by run and by the name of the load test."""

    async def put(self, run: str, part: str, seen: dict[str, Any]) -> None:
        """Store the results of a load test so far, replacing its earlier ones."""
        query = select(LoadRow).where(LoadRow.run_id == run, LoadRow.part == part).with_for_update()
        row = await self.session.scalar(query)
        if row is None:
            self.session.add(LoadRow(run_id=run, part=part, seen=seen))
        else:
            row.seen = seen
        await self.session.flush()

    async def of_run(self, run: str) -> dict[str, dict[str, Any]]:
        """Return the results of all load tests of a run, in the order in which they began."""
        query = select(LoadRow).where(LoadRow.run_id == run).order_by(LoadRow.id)
        return {row.part: row.seen for row in await self.session.scalars(query)}
