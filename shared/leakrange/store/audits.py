"""Audits in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from leakrange.store.rows import DatedRows
from leakrange.store.tables import AuditRow, now

__all__ = ["AuditStore"]


class AuditStore(DatedRows[AuditRow]):
    """Audits by id."""

    table, noun = AuditRow, "audit"

    async def create(self, request: dict[str, Any]) -> AuditRow:
        """Add a running audit."""
        created = now()
        audit = AuditRow(
            id=self.new_id(created),
            state="running",
            created=created,
            request=request,
        )
        self.session.add(audit)
        await self.session.flush()
        return audit

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
