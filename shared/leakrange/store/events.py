"""The ordered event stream of a run, and how far other streams have been read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.store.insert import insert_or_replace
from leakrange.store.tables import Cursor, Event, Run
from leakrange.wire.errors import NotFound

__all__ = ["Cursors", "Events"]


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


class Cursors:
    """Positions in streams by name. Moved in the same transaction as what was read, a position never runs
    ahead of it."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def get(self, name: str, default: str = "0") -> str:
        """The position, or ``default`` where nothing was read yet."""
        position = await self.session.scalar(select(Cursor.position).where(Cursor.name == name))
        return default if position is None else position

    async def set(self, name: str, position: str) -> None:
        """Remember how far was read."""
        await insert_or_replace(self.session, Cursor, {"name": name, "position": position}, (Cursor.name,))
