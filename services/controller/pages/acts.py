"""``/acts``: what the operator did, here and at the proxy."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from leakrange.services.controller.acts.service import ActLog
from leakrange.services.controller.pages.rendering import show
from leakrange.services.controller.visitors import Operating

router = APIRouter(include_in_schema=False)
SHOWN = 200


@router.get("/acts")
async def acts(request: Request, visitor: Operating) -> Response:
    """The newest acts, the last one first. For operators: it tells their addresses."""
    log: ActLog = request.app.state.acts
    page = await log.newest(SHOWN)
    return show(request, "acts.html.j2", visitor=visitor, acts=page.acts[::-1], intact=page.intact)
