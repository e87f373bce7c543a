"""What takes long: an audit with its document in every form, and plans. Another process than the controller
answers (`leakrange.services.controller.reading`)."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated

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

__all__ = ["Form", "ReaderOf", "documents", "planning"]

documents = APIRouter(prefix="/v1/assessments", tags=["assessments"], route_class=Expensive)
planning = APIRouter(prefix="/assessments")
"""Of the process that reads, for the controller alone."""
ReaderOf = Annotated[AssessmentReader, of_app("assessments")]


class Form(StrEnum):
    """A form of a document."""

    HTML = "html"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    CYCLONEDX = "cyclonedx"
    CSV = "csv"


ENDINGS = {Form.JUNIT: ".xml", Form.CYCLONEDX: ".cdx.json"}
"""Of files, where it is not the form's name."""
MEDIA = {
    Form.HTML: "text/html; charset=utf-8",
    Form.JSON: "application/json",
    Form.SARIF: "application/sarif+json",
    Form.JUNIT: "application/xml",
    Form.CYCLONEDX: "application/vnd.cyclonedx+json",
    Form.CSV: "text/csv",
}


@documents.get(
    "/{assessment}",
    response_model=AssessmentView,
    responses={200: {"content": {media.partition(";")[0]: {} for media in MEDIA.values()}}},
)
async def view(
    assessment: Identity,
    service: ReaderOf,
    format: Annotated[Form | None, Query(description="the document alone, as a file")] = None,
) -> AssessmentView | Response:
    """The state of an audit, and its document when it is done. With ``format`` the document alone; 409 where
    there is none."""
    found = await service.view(assessment)
    if format is None:
        return found
    if found.document is None:
        raise Conflict(f"the audit has no document: it is {found.state}", hint="GET the audit itself")
    content, name = await asyncio.to_thread(_file, found.document, format)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if format is Form.HTML:
        headers = {"Content-Security-Policy": f"{policy(SCRIPT)}; frame-ancestors 'none'"}
    return Response(content, media_type=MEDIA[format], headers=headers)


def _file(document: Assessment, form: Form) -> tuple[str | bytes, str]:
    """The document in a form, and the name of its file."""
    from leakrange.assessment.exports import FORMS, TargetPlace  # which takes long to import

    ending = ENDINGS.get(form, f".{form}")
    content = FORMS[ending](document, TargetPlace(f"{document.subject.name}.yaml"))
    return content, f"{document.subject.name}{ending}"


@planning.post("/plan")
async def plan(question: EndpointQuestion) -> AssessmentPlan:
    """The plan of an audit."""
    from leakrange.assessment.plan import planned  # which takes long to import

    return await asyncio.to_thread(planned, question)
