"""``/v1/scenario``: for editors of scenarios. Nothing is stored."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request

from leakrange.scenario.completion import Completion
from leakrange.services.controller.requests import SCENARIO_BODY, of_app
from leakrange.services.controller.scenarios.schemas import Checked, Writing
from leakrange.services.controller.scenarios.service import ScenarioService
from leakrange.services.controller.visitors import Reading

router = APIRouter(prefix="/v1/scenario", tags=["scenarios"])


Service = Annotated[ScenarioService, of_app("scenarios")]


@router.post(
    "/check",
    openapi_extra={"requestBody": SCENARIO_BODY},
)
async def check(request: Request, service: Service, visitor: Reading) -> Checked:
    """Every mistake of a scenario (YAML or JSON) with its line; or what a run of it will take: trials, models
    to train and how many of them are stored, samples asked, seconds of training."""
    return await service.check(await request.body(), operates=visitor.role == "operator")


@router.post("/complete")
async def complete(writing: Writing, service: Service, visitor: Reading) -> Completion:
    """What can be written at a place of a scenario, which need not be sound or even YAML yet."""
    return await service.complete(writing, operates=visitor.role == "operator")
