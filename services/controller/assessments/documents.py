"""What takes long: an audit with its document in every form, and plans. Another process than the controller
answers (`leakrange.services.controller.reading`)."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from leakrange.assessment.document import Assessment, AssessmentPlan
from leakrange.assessment.question import EndpointQuestion
from leakrange.assessment.requests import AssessmentView
from leakrange.report.page import SCRIPT
from leakrange.report.rendering import policy
from leakrange.services.controller.assessments.reader import AssessmentReader
from leakrange.services.controller.reading.route import Expensive
from leakrange.services.controller.requests import Identity, of_app
from leakrange.wire.errors import Conflict

__all__ = ["WRITTEN", "DocumentForm", "ReaderOf", "documents", "planning"]

documents = APIRouter(prefix="/v1/assessments", tags=["assessments"], route_class=Expensive)
planning = APIRouter(prefix="/assessments")
"""Of the process that reads, for the controller alone."""
ReaderOf = Annotated[AssessmentReader, of_app("assessments")]


DocumentForm = Literal["html", "json", "sarif", "junit", "cyclonedx", "csv"]
WRITTEN: dict[DocumentForm, tuple[str, str]] = {
    "html": (".html", "text/html; charset=utf-8"),
    "json": (".json", "application/json"),
    "sarif": (".sarif", "application/sarif+json"),
    "junit": (".xml", "application/xml"),
    "cyclonedx": (".cdx.json", "application/vnd.cyclonedx+json"),
    "csv": (".csv", "text/csv"),
}
"""The forms of a document, each with the ending of its file and its media type."""


@documents.get(
    "/{assessment}",
    response_model=AssessmentView,
    responses={200: {"content": {media.partition(";")[0]: {} for _, media in WRITTEN.values()}}},
)
async def view(
    assessment: Identity,
    service: ReaderOf,
    format: Annotated[DocumentForm | None, Query(description="the document alone, as a file")] = None,
) -> AssessmentView | Response:
    """The state of an audit, and its document when it is done. With ``format`` the document alone; 409 where
    there is none."""
    found = await service.view(assessment)
    if format is None:
        return found
    if found.document is None:
        raise Conflict(f"the audit has no document: it is {found.state}", hint="GET the audit itself")
    ending, media = WRITTEN[format]
    content = await asyncio.to_thread(_file, found.document, ending)
    headers = {"Content-Disposition": f'attachment; filename="{found.target}{ending}"'}
    if format == "html":
        headers = {"Content-Security-Policy": f"{policy(SCRIPT)}; frame-ancestors 'none'"}
    return Response(content, media_type=media, headers=headers)


def _file(document: Assessment, ending: str) -> str | bytes:
    from leakrange.assessment.exports import FORMS, TargetPlace  # which takes long to import

    return FORMS[ending](document, TargetPlace(f"{document.subject.name}.yaml"))


@planning.post("/plan")
async def plan(question: EndpointQuestion) -> AssessmentPlan:
    """The plan of an audit."""
    from leakrange.assessment.plan import planned  # which takes long to import

    return await asyncio.to_thread(planned, question)
