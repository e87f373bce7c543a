"""Audits of endpoints, as the controller tells of them (``/v1/assessments``)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from leakrange.assessment.document import Assessment, AssessmentPlan, Conclusion
from leakrange.assessment.question import EndpointQuestion
from leakrange.jobs.audits import AuditState
from leakrange.metrics.verdict import Grade
from leakrange.strict import Strict

__all__ = [
    "AssessmentAccepted",
    "AssessmentEntry",
    "AssessmentList",
    "AssessmentRequest",
    "AssessmentView",
    "Brief",
]


class AssessmentRequest(Strict):
    """What is stored of an audit when it begins: the ``question``, the ``plan`` that answers it, and the
    ``run`` that carries this out."""

    question: EndpointQuestion
    plan: AssessmentPlan
    run: str


class AssessmentAccepted(BaseModel):
    """The answer to ``POST /v1/assessments``. ``run_was``: whether the run of the plan is ``new``, was
    ``begun`` before and goes on, or is ``done`` already, so that nothing is asked."""

    id: str
    url: str
    run: str
    run_was: Literal["new", "begun", "done"]


class Brief(Strict):
    """A document in a line of a list: its ``grade``, the figure of the strongest attack in words (``worst``),
    and by how much it leads over what can be guessed without the model; None where there is no figure."""

    grade: Grade
    worst: str
    lead: float | None


class AssessmentEntry(BaseModel):
    """One audit as a listing shows it. Times are ISO 8601 in UTC; ``conclusion`` and ``brief`` are None where
    there is no document."""

    id: str
    state: AuditState
    target: str
    data: str
    created: str
    finished: str | None
    run: str
    conclusion: Conclusion | None
    brief: Brief | None


class AssessmentView(AssessmentEntry):
    """One audit with its plan, and what came of it: the document, or the problem (RFC 9457) for which there
    is none."""

    plan: AssessmentPlan
    document: Assessment | None
    problem: dict[str, Any] | None


class AssessmentList(BaseModel):
    """A page of audits, newest first; ``next`` is the ``after`` of the following page."""

    assessments: list[AssessmentEntry]
    next: str | None
