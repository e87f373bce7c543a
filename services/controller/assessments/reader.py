"""Stored audits of endpoints: their list, and each with its document."""

from __future__ import annotations

from typing import Any

from leakrange.assessment.document import Conclusion
from leakrange.assessment.requests import AssessmentEntry, AssessmentList, AssessmentView
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.tables import AuditRow

__all__ = ["AssessmentReader"]


class AssessmentReader:
    """The audits of endpoints of this range, for whoever looks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, limit: int, after: str | None, *, conclusion: Conclusion | None = None, target: str = ""
    ) -> AssessmentList:
        """Audits, newest first: those of that conclusion whose target's name contains ``target``."""
        async with self._database.read() as session:
            rows, following = await AuditStore(session).listed(
                kind="endpoint", conclusion=conclusion, subject=target, limit=limit, after=after
            )
        return AssessmentList(assessments=[AssessmentEntry(**_entry(row)) for row in rows], next=following)

    async def view(self, audit: str) -> AssessmentView:
        """One audit; raises `NotFound`."""
        async with self._database.read() as session:
            row = await AuditStore(session).of_kind("endpoint", audit)
        return AssessmentView(
            **_entry(row), plan=row.request["plan"], document=row.verdict, problem=row.problem
        )


def _entry(row: AuditRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": row.state,
        "target": row.subject,
        "data": row.request["question"]["data"],
        "created": row.created.isoformat(),
        "finished": row.finished.isoformat() if row.finished else None,
        "run": row.request["run"],
        "conclusion": row.conclusion,
        "brief": row.brief,
    }
