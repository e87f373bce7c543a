"""``/``: the runs of this range, as they go on."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from leakrange.jobs.step import label
from leakrange.services.controller.pages.rendering import fragment, show, stamp
from leakrange.services.controller.requests import After
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.visitors import Reading

router = APIRouter(include_in_schema=False)
A_PAGE = 25


@router.get("/")
async def home(request: Request, visitor: Reading, after: After = None) -> Response:
    """Runs, newest first."""
    return show(request, "home.html.j2", visitor=visitor, **await _listed(request, after))


@router.get("/runs/list")
async def again(
    request: Request,
    visitor: Reading,
    after: After = None,
    seen: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """The list alone; 204 if it has not changed since ``seen``, so that nothing moves under a reader's
    hands."""
    listed = await _listed(request, after)
    if listed["seen"] == seen:
        return Response(status_code=204)
    return HTMLResponse(fragment(request, "runs.html.j2", visitor=visitor, **listed))


async def _listed(request: Request, after: str | None) -> dict[str, Any]:
    service: RunService = request.app.state.runs
    page = await service.page(A_PAGE, after)
    return {
        "runs": page.runs,
        "seen": stamp(page.model_dump_json().encode()),
        "after": after,
        "following": page.next,
        "label": label,
    }
