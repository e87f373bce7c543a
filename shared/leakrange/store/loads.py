"""What load tests saw in runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.store.tables import Load

__all__ = ["Loads"]


class Loads:
    """By run and by the name of the load test."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def put(self, run: str, part: str, seen: dict[str, Any]) -> None:
        """Store what a load test has seen so far, in place of what it told before."""
        query = select(Load).where(Load.run_id == run, Load.part == part).with_for_update()
        found = await self.session.scalar(query)
        if found is None:
            self.session.add(Load(run_id=run, part=part, seen=seen))
        else:
            found.seen = seen
        await self.session.flush()

    async def of_run(self, run: str) -> dict[str, dict[str, Any]]:
        """What all of a run's load tests saw, in the order in which they began."""
        query = select(Load).where(Load.run_id == run).order_by(Load.id)
        return {found.part: found.seen for found in await self.session.scalars(query)}
