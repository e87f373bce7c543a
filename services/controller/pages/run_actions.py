"""What an operator does with runs: ``/runs/{run}/cancel``, ``/again``, and ``/tour`` for the demo."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response

from leakrange.scenario.shipped import shipped
from leakrange.services.controller.pages.rendering import see_other
from leakrange.services.controller.requests import Identity, of_app
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.visitors import Operating

router = APIRouter(include_in_schema=False)
RunsOf = Annotated[RunService, of_app("runs")]
DEMO = "demo"


@router.post("/runs/{run}/cancel")
async def cancel(runs: RunsOf, run: Identity, _operator: Operating) -> Response:
    """End the run; its page tells what was measured until then."""
    await runs.cancel(run)
    return see_other(f"/runs/{run}")


@router.post("/runs/{run}/again")
async def again(runs: RunsOf, run: Identity, _operator: Operating) -> Response:
    """Run the same scenario once more."""
    begun = await runs.again(run)
    return see_other(f"/runs/{begun.id}")


@router.post("/tour")
async def begin(runs: RunsOf, _operator: Operating) -> Response:
    """Start the demo, and go to its page."""
    accepted = await runs.start(shipped()[DEMO].text.encode())
    return see_other(f"/runs/{accepted.id}")
