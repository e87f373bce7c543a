"""``/v1/audits``: have the fleet audit a model, and read the verdict."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response

from leakrange.jobs.audits import AuditAccepted, AuditList, AuditRequest, AuditView
from leakrange.services.controller.audits.service import AuditService
from leakrange.services.controller.requests import After, Identity, Limit, Operator, of_app

router = APIRouter(prefix="/v1/audits", tags=["audits"])


Service = Annotated[AuditService, of_app("audits")]


@router.post("", status_code=202, dependencies=[Operator])
async def start(asked: AuditRequest, service: Service, response: Response) -> AuditAccepted:
    """Take the plan of an audit, check it, and have the fleet carry it out."""
    accepted = await service.start(asked)
    response.headers["Location"] = accepted.url
    return accepted


@router.get("")
async def page(service: Service, limit: Limit = 50, after: After = None) -> AuditList:
    """Audits, newest first."""
    return await service.page(limit, after)


@router.get("/{audit}")
async def view(audit: Identity, service: Service) -> AuditView:
    """The state of an audit, and its verdict when it is done."""
    return await service.view(audit)


@router.get("/{audit}/report", response_class=Response, responses={200: {"content": {"text/html": {}}}})
async def report(audit: Identity, service: Service) -> Response:
    """The verdict as one self-contained HTML page; 409 where there is none."""
    return Response(await service.report(audit), media_type="text/html; charset=utf-8")
