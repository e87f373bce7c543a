"""``/``: the runs of this range, as they go on."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from services.controller.pages.rendering import fragment, show, stamp
from services.controller.requests import After
from services.controller.runs.service import RunService
from services.controller.visitors import Reading

router = APIRouter(include_in_schema=False)
A_PAGE = 25
JOBS = {
    "train": "training",
    "deploy": "deploying",
    "stream": "users",
    "probe": "probing",
    "fit": "fitting",
    "audit": "auditing",
    "evaluate": "evaluating",
}
"""What a run does, by its kinds of jobs."""


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
    """The list alone; 204 while it is what was ``seen``, so that nothing moves under a reader's hands."""
    listed = await _listed(request, after)
    if listed["seen"] == seen:
        return Response(status_code=204)
    return HTMLResponse(fragment(request, "runs.html.j2", visitor=visitor, **listed))


async def _listed(request: Request, after: str | None) -> dict[str, Any]:
    service: RunService = request.app.state.runs
    found = await service.page(A_PAGE, after)
    return {
        "runs": found.runs,
        "seen": stamp(found.model_dump_json().encode()),
        "after": after,
        "following": found.next,
        "jobs": JOBS,
    }
