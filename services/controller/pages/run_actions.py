"""``/runs/{run}/cancel`` and ``/again``: what an operator does with a run."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from leakrange.services.controller.pages.rendering import see_other
from leakrange.services.controller.requests import Identity
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.visitors import Operating

router = APIRouter(include_in_schema=False)


@router.post("/runs/{run}/cancel")
async def cancel(request: Request, run: Identity, _operator: Operating) -> Response:
    """End the run; its page tells what was measured until then."""
    runs: RunService = request.app.state.runs
    await runs.cancel(run)
    return see_other(f"/runs/{run}")


@router.post("/runs/{run}/again")
async def again(request: Request, run: Identity, _operator: Operating) -> Response:
    """Run the same scenario once more."""
    runs: RunService = request.app.state.runs
    begun = await runs.again(run)
    return see_other(f"/runs/{begun.id}")
