"""The ordered event stream of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.store.tables import Event, Run
from leakrange.wire.errors import NotFound

__all__ = ["Events"]


class Events:
    """Events by run and number."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def append(self, run_id: str, kind: str, data: dict[str, Any]) -> Event:
        """Add an event under the run's next number; raises `NotFound`.

        The number comes from the run's row, which stays locked until this transaction ends: so numbers have
        no gap (a rollback gives its number back) and nobody ever sees an event before all earlier ones.
        """
        number = await self.session.scalar(
            update(Run)
            .where(Run.id == run_id)
            .values(events=Run.events + 1)
            .returning(Run.events)
            .execution_options(synchronize_session=False)
        )
        if number is None:
            raise NotFound(f"there is no run {run_id!r}")
        event = Event(run_id=run_id, seq=number, kind=kind, data=data)
        self.session.add(event)
        await self.session.flush()
        return event

    async def after(self, run_id: str, seq: int = 0, *, limit: int = 1000) -> Sequence[Event]:
        """The events that follow number ``seq`` (0: from the start), in order."""
        query = select(Event).where(Event.run_id == run_id, Event.seq > seq).order_by(Event.seq).limit(limit)
        return (await self.session.scalars(query)).all()
