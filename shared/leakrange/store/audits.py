"""Audits in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from leakrange.store.rows import DatedRows
from leakrange.store.tables import AuditKind, AuditRow, now
from leakrange.wire.errors import NotFound

__all__ = ["AuditStore"]


class AuditStore(DatedRows[AuditRow]):
    """Audits by id, of models and of endpoints."""

    table, noun, unlisted = AuditRow, "audit", (AuditRow.verdict,)

    async def create(self, subject: str, request: dict[str, Any], *, kind: AuditKind = "model") -> AuditRow:
        """Add a running audit of the model or the endpoint of that name."""
        created = now()
        audit = AuditRow(
            id=self.new_id(created),
            state="running",
            created=created,
            kind=kind,
            subject=subject,
            request=request,
        )
        self.session.add(audit)
        await self.session.flush()
        return audit

    async def of_kind(self, kind: AuditKind, audit_id: str) -> AuditRow:
        """Return an audit of that kind; raises `NotFound`."""
        audit = await self.get(audit_id)
        if audit.kind != kind:
            raise NotFound(
                f"the audit {audit_id!r} is not one of {kind}s", hint=f"it is one of {audit.kind}s"
            )
        return audit

    async def listed(
        self,
        *,
        kind: AuditKind | None = None,
        conclusion: str | None = None,
        subject: str = "",
        limit: int = 50,
        after: str | None = None,
    ) -> tuple[Sequence[AuditRow], str | None]:
        """The page of audits of that kind and conclusion whose subject's name contains ``subject``: see
        `page`."""
        table = self.table
        wanted = [
            *([table.kind == kind] if kind else []),
            *([table.conclusion == conclusion] if conclusion else []),
            *([table.subject.icontains(subject, autoescape=True)] if subject else []),
        ]
        return await self.page(*wanted, limit=limit, after=after)

    async def running(self, kind: AuditKind) -> Sequence[AuditRow]:
        """Return the audits of that kind that have not ended, oldest first."""
        query = (
            select(AuditRow)
            .where(AuditRow.state == "running", AuditRow.kind == kind)
            .order_by(AuditRow.created, AuditRow.id)
        )
        return (await self.session.scalars(query)).all()

    async def finish(
        self,
        audit_id: str,
        *,
        verdict: dict[str, Any] | None = None,
        brief: dict[str, Any] | None = None,
        problem: dict[str, Any] | None = None,
    ) -> None:
        """End an audit with a verdict, or with the problem that prevented one; its API key is forgotten.
        Raises `NotFound`."""
        audit = await self.get(audit_id)
        audit.state = "done" if verdict is not None else "failed"
        audit.conclusion = None if verdict is None else verdict["conclusion"]
        audit.finished, audit.verdict, audit.brief, audit.problem = now(), verdict, brief, problem
        audit.request = {name: value for name, value in audit.request.items() if name != "key"}
