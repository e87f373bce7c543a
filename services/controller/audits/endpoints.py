"""``/v1/audits``: have the fleet audit a model, and read the verdict."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from leakrange.service.app import check_operator
from services.controller.audits.schemas import AuditAccepted, AuditList, AuditRequest, AuditView
from services.controller.audits.service import AuditService

router = APIRouter(prefix="/v1/audits", tags=["audits"])
ID = r"^[A-Za-z0-9-]+$"
AuditId = Annotated[str, Path(max_length=64, pattern=ID, examples=["20260101-120000-a1b2c3"])]


def _service(request: Request) -> AuditService:
    service: AuditService = request.app.state.audits
    return service


def _operator(request: Request, authorization: Annotated[str | None, Header()] = None) -> None:
    check_operator(authorization, request.app.state.settings.operator_key)


Service = Annotated[AuditService, Depends(_service)]


@router.post("", status_code=202, dependencies=[Depends(_operator)])
async def start(asked: AuditRequest, service: Service, response: Response) -> AuditAccepted:
    """Take the plan of an audit, check it, and have the fleet carry it out."""
    accepted = await service.start(asked)
    response.headers["Location"] = accepted.url
    return accepted


@router.get("")
async def page(
    service: Service,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str | None, Query(max_length=64, pattern=ID)] = None,
) -> AuditList:
    """Audits, newest first."""
    return await service.page(limit, after)


@router.get("/{audit}")
async def view(audit: AuditId, service: Service) -> AuditView:
    """The state of an audit, and its verdict when it is done."""
    return await service.view(audit)
