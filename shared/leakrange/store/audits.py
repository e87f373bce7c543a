"""Audits in the database."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.store.tables import AuditRow, now
from leakrange.wire.errors import InvalidInput, NotFound

__all__ = ["AuditStore"]


class AuditStore:
    """Audits by id. Ids begin with the UTC time of creation, as those of runs do."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def create(self, request: dict[str, Any]) -> AuditRow:
        """Add a running audit."""
        created = now()
        audit = AuditRow(
            id=f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            state="running",
            created=created,
            request=request,
        )
        self.session.add(audit)
        await self.session.flush()
        return audit

    async def get(self, audit_id: str) -> AuditRow:
        """Return the audit; raises `NotFound`."""
        audit = await self.session.get(AuditRow, audit_id)
        if audit is None:
            raise NotFound(f"there is no audit {audit_id!r}", hint="GET /v1/audits lists the audits")
        return audit

    async def page(
        self, *, limit: int = 50, after: str | None = None
    ) -> tuple[Sequence[AuditRow], str | None]:
        """Return up to ``limit`` audits, newest first, older than audit ``after``, and the ``after`` of the
        next page (None: no more). Raises `InvalidInput` if ``after`` names no audit."""
        query = select(AuditRow).order_by(AuditRow.created.desc(), AuditRow.id.desc()).limit(limit + 1)
        if after is not None:
            last = await self.session.get(AuditRow, after)
            if last is None:
                raise InvalidInput(
                    f"'after' names no audit: {after!r}", hint="take it from the previous page"
                )
            query = query.where(tuple_(AuditRow.created, AuditRow.id) < (last.created, last.id))
        rows = (await self.session.scalars(query)).all()
        return rows[:limit], rows[limit - 1].id if len(rows) > limit else None

    async def running(self) -> Sequence[AuditRow]:
        """Return the audits that have not ended, oldest first."""
        query = select(AuditRow).where(AuditRow.state == "running").order_by(AuditRow.created, AuditRow.id)
        return (await self.session.scalars(query)).all()

    async def finish(
        self, audit_id: str, *, verdict: dict[str, Any] | None = None, problem: dict[str, Any] | None = None
    ) -> None:
        """End an audit with a verdict, or with the problem that prevented one; its API key is forgotten.
        Raises `NotFound`."""
        audit = await self.get(audit_id)
        audit.state = "done" if verdict is not None else "failed"
        audit.finished, audit.verdict, audit.problem = now(), verdict, problem
        audit.request = {name: value for name, value in audit.request.items() if name != "key"}
