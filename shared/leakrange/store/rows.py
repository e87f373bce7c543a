"""What the stores of all tables share: one session, inserts of rows that may exist, pages of dated rows."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, defer

from leakrange.store.tables import AuditRow, Base, RunRow
from leakrange.wire.errors import InvalidInput, NotFound

__all__ = ["DatedRows", "Rows"]

Dated = TypeVar("Dated", RunRow, AuditRow)


class Rows:
    """Rows of the database, read and changed in one session."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def insert_new(
        self, table: type[Base], rows: Sequence[dict[str, Any]], *unique: InstrumentedAttribute[Any]
    ) -> int:
        """Insert the rows whose ``unique`` columns are not taken; the others stay unchanged. Returns how many
        were new."""
        if not rows:
            return 0
        insert = postgresql.insert if self.session.get_bind().dialect.name == "postgresql" else sqlite.insert
        statement = insert(table).on_conflict_do_nothing(index_elements=[c.key for c in unique])
        inserted = await self.session.scalars(statement.returning(unique[0]), rows)
        return len(inserted.all())


class DatedRows(Rows, Generic[Dated]):
    """Rows by id. Ids begin with the UTC time of creation, so that they sort and a person can tell them
    apart."""

    table: type[Dated]
    noun: str
    """The word for a row in messages."""
    listed_by: str | None = None
    """What tells a user which rows there are."""
    unlisted: tuple[InstrumentedAttribute[Any], ...] = ()
    """Long columns, which the rows of a page do not have."""

    @staticmethod
    def new_id(created: datetime) -> str:
        """An id that no row has."""
        return f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"

    async def get(self, id: str) -> Dated:
        """Return the row; raises `NotFound`."""
        row = await self.session.get(self.table, id)
        if row is None:
            raise NotFound(f"there is no {self.noun} {id!r}", hint=self.listed_by)
        return row

    async def page(
        self, *wanted: ColumnElement[bool], limit: int = 50, after: str | None = None
    ) -> tuple[Sequence[Dated], str | None]:
        """Return up to ``limit`` rows that are ``wanted``, newest first, older than row ``after``, and the
        ``after`` of the next page (None: no more). Raises `InvalidInput` if ``after`` names no row."""
        table = self.table
        newest = table.created.desc(), table.id.desc()
        query = select(table).options(*map(defer, self.unlisted)).where(*wanted).order_by(*newest)
        query = query.limit(limit + 1)
        if after is not None:
            last = await self.session.get(table, after)
            if last is None:
                raise InvalidInput(
                    f"'after' names no {self.noun}: {after!r}", hint="take it from the previous page"
                )
            query = query.where(tuple_(table.created, table.id) < tuple_(last.created, last.id))
        rows = (await self.session.scalars(query)).all()
        return rows[:limit], rows[limit - 1].id if len(rows) > limit else None
