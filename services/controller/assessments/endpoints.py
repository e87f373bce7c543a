"""``/v1/assessments``: plan an audit of an endpoint, start it, and list what there is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from leakrange.assessment.document import AssessmentPlan, Conclusion
from leakrange.assessment.question import EndpointQuestion
from leakrange.assessment.requests import AssessmentAccepted, AssessmentList
from leakrange.services.controller.assessments.service import AssessmentService
from leakrange.services.controller.requests import WITHOUT_NUL, After, Limit, Operator, of_app

__all__ = ["AssessmentsOf", "router"]

router = APIRouter(prefix="/v1/assessments", tags=["assessments"])
AssessmentsOf = Annotated[AssessmentService, of_app("assessments")]


@router.post("/plan", dependencies=[Operator])
async def plan(question: EndpointQuestion, service: AssessmentsOf) -> AssessmentPlan:
    """What an audit would do: attacks, samples, price, time, and what so many records can show. Nothing is
    asked, and nothing is stored."""
    return await service.plan(question)


@router.post("", status_code=202, dependencies=[Operator])
async def start(question: EndpointQuestion, service: AssessmentsOf, response: Response) -> AssessmentAccepted:
    """Plan an audit, and begin its run. What was asked before is not asked again."""
    accepted = await service.start(question)
    response.headers["Location"] = accepted.url
    return accepted


@router.get("")
async def page(
    service: AssessmentsOf,
    limit: Limit = 50,
    after: After = None,
    conclusion: Conclusion | None = None,
    target: Annotated[str, Query(max_length=256, pattern=WITHOUT_NUL)] = "",
) -> AssessmentList:
    """Audits of endpoints, newest first: those of a conclusion, or whose target's name contains a text."""
    return await service.page(limit, after, conclusion=conclusion, target=target)
