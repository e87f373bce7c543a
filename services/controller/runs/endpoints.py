"""``/v1/runs``: start scenarios, list, follow and cancel runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from leakrange.services.controller.requests import SCENARIO_BODY, After, Identity, Limit, Operator, of_app
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.turns import Followers
from leakrange.services.controller.visitors import Reading
from leakrange.wire.runs import Accepted, RunList, RunView

router = APIRouter(prefix="/v1/runs", tags=["runs"])


Service = Annotated[RunService, of_app("runs")]


@router.post(
    "",
    status_code=202,
    dependencies=[Operator],
    openapi_extra={"requestBody": SCENARIO_BODY},
)
async def start(
    request: Request,
    service: Service,
    response: Response,
    load: bool = False,
    origin: After = None,
) -> Accepted:
    """Take a scenario (YAML or JSON), check it, and begin to run it. All mistakes are told at once (422).
    With ``load``, load users ask what the fleet would. ``origin`` is the run that the scenario was taken
    from, where it was."""
    accepted = await service.start(await request.body(), load=load, origin=origin)
    response.headers["Location"] = accepted.url
    return accepted


@router.get("")
async def page(service: Service, limit: Limit = 50, after: After = None) -> RunList:
    """Runs, newest first."""
    return await service.page(limit, after)


@router.get("/{run}")
async def view(run: Identity, service: Service) -> RunView:
    """The state of a run: how many of its jobs and trials are done."""
    return await service.view(run)


@router.delete("/{run}", status_code=202, dependencies=[Operator])
async def cancel(run: Identity, service: Service) -> RunView:
    """Cancel a run and free its workers; a finished run stays as it is."""
    return await service.cancel(run)


async def _seat(request: Request, visitor: Reading, run: Identity, service: Service) -> AsyncIterator[None]:
    """Whoever follows a run has a seat until the stream ends."""
    await service.stamp(run)
    followers: Followers = request.app.state.followers
    with (followers.operators if visitor.operates else followers.viewers).seat():
        yield


Seat = Depends(_seat)
"""Refuses whoever may not read, then a run that there is not, then one too many of those who follow a run."""


@router.get(
    "/{run}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
    dependencies=[Seat],
)
async def events(
    run: Identity,
    service: Service,
    last_event_id: Annotated[str | None, Header(max_length=10, pattern=r"^[0-9]+$")] = None,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> Response:
    """The run's events from the start (or after ``Last-Event-ID``), live until it is finished."""
    position = min(int(last_event_id) if last_event_id else after, 2**31 - 1)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(service.follow(run, position), media_type="text/event-stream", headers=headers)
