"""``/tour``: starts the demo, whose page explains what happens."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from leakrange.scenario.shipped import shipped
from leakrange.services.controller.pages.rendering import see_other
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.visitors import Operating

router = APIRouter(include_in_schema=False)
DEMO = "demo"


@router.post("/tour")
async def begin(request: Request, visitor: Operating) -> Response:  # noqa: ARG001
    """Start the demo, and go to its page."""
    runs: RunService = request.app.state.runs
    accepted = await runs.start(shipped()[DEMO].text.encode())
    return see_other(f"/runs/{accepted.id}")
