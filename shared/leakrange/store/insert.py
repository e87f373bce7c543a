"""Inserts rows that may exist already, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from leakrange.store.tables import Base

__all__ = ["insert_new", "insert_or_replace"]


def _insert(session: AsyncSession, table: type[Base]) -> postgresql.Insert | sqlite.Insert:
    dialect = session.get_bind().dialect.name
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


async def insert_new(
    session: AsyncSession,
    table: type[Base],
    rows: Sequence[dict[str, Any]],
    unique: Sequence[InstrumentedAttribute[Any]],
) -> int:
    """Insert the rows whose ``unique`` columns are not taken; the others are left as they are. Returns how
    many were new."""
    if not rows:
        return 0
    statement = _insert(session, table).on_conflict_do_nothing(index_elements=[c.key for c in unique])
    inserted = await session.scalars(statement.returning(unique[0]), rows)
    return len(inserted.all())


async def insert_or_replace(
    session: AsyncSession,
    table: type[Base],
    row: dict[str, Any],
    unique: Sequence[InstrumentedAttribute[Any]],
) -> None:
    """Insert the row, or give the one with the same ``unique`` columns its other values."""
    keys = [c.key for c in unique]
    statement = _insert(session, table).values(**row)
    changed = {key: value for key, value in row.items() if key not in keys}
    await session.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed))
