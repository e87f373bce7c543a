"""Inserts rows that may exist already, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from leakrange.store.tables import Base

__all__ = ["insert_new"]


async def insert_new(
    session: AsyncSession,
    table: type[Base],
    rows: Sequence[dict[str, Any]],
    unique: Sequence[InstrumentedAttribute[Any]],
) -> int:
    """Insert the rows whose ``unique`` columns are not taken; the others stay unchanged. Returns how many
    were new."""
    if not rows:
        return 0
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).on_conflict_do_nothing(index_elements=[c.key for c in unique])
    inserted = await session.scalars(statement.returning(unique[0]), rows)
    return len(inserted.all())
