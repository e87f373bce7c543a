"""``GET /v1/acts``: the log of the operator's acts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from leakrange.services.controller.acts.service import ActLog
from leakrange.services.controller.requests import Operator, of_app
from leakrange.wire.acts import ActList

__all__ = ["router"]

router = APIRouter(prefix="/v1/acts", tags=["acts"])


@router.get("", dependencies=[Operator])
async def page(
    log: Annotated[ActLog, of_app("acts")],
    after: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> ActList:
    """Acts at the controller and the proxy, oldest first: those behind number ``after``, or the newest."""
    return await (log.newest(limit) if after is None else log.page(after, limit))
