"""``/v1/runs/{run}/offers``, ``…/releases``, ``…/load``: for the operator's load users."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from leakrange.scenario.under_load import LoadPart
from leakrange.services.controller.load.schemas import LoadView, OfferedQuestions, Refusal, Wish
from leakrange.services.controller.load.service import LoadService
from leakrange.services.controller.load.shown import pictured, written
from leakrange.services.controller.reading.route import Expensive
from leakrange.services.controller.requests import Identity, Operator, of_app
from leakrange.services.controller.runs.reader import RunReader

router = APIRouter(prefix="/v1/runs/{run}", tags=["load"])
figures = APIRouter(prefix="/v1/runs/{run}", tags=["load"], route_class=Expensive)


Service = Annotated[LoadService, of_app("load")]
RunsOf = Annotated[RunReader, of_app("runs")]
Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
Part = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9-]+$")]


@router.get("/load", dependencies=[Operator])
async def view(run: Identity, service: Service) -> LoadView:
    """Which users a run under load wants, and whether it has anything left to ask."""
    return await service.view(run)


@figures.get("/load/table", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
async def table(
    run: Identity,
    runs: RunsOf,
    format: Annotated[str, Query(pattern="^(json|csv|text)$")] = "json",
) -> Response:
    """How far attacks came with so many queries, and how those were answered: JSON, CSV or text."""
    media = {"json": "application/json", "csv": "text/csv; charset=utf-8"}.get(format, "text/plain")
    return Response(await asyncio.to_thread(written, await runs.results(run), format), media_type=media)


@figures.get("/load/picture", response_class=Response, responses={200: {"content": {"image/svg+xml": {}}}})
async def picture(run: Identity, runs: RunsOf) -> Response:
    """The same as a picture, SVG: of the run's first attack. The report has one of each."""
    drawn = await asyncio.to_thread(pictured, await runs.results(run))
    return Response(drawn, media_type="image/svg+xml")


@router.post("/offers", dependencies=[Operator])
async def take(run: Identity, wish: Wish, service: Service) -> OfferedQuestions:
    """Take chunks of questions. Those that get no answers are offered again after a while."""
    return await service.take(run, wish)


@router.put(
    "/releases/{identity}",
    status_code=204,
    dependencies=[Operator],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-npy": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def hand_in(run: Identity, identity: Digest, request: Request, service: Service) -> None:
    """Hand in the answers to a chunk, as npy; handing them in twice changes nothing."""
    await service.hand_in(run, identity, await request.body())


@router.put("/refusals/{identity}", status_code=204, dependencies=[Operator])
async def refuse(run: Identity, identity: Digest, refusal: Refusal, service: Service) -> None:
    """Say why a chunk gets no answers: the trials that need it fail, or where a limit of the proxy gives no
    more, are not reached."""
    service.refuse(run, identity, refusal)


@router.put("/load/{part}", status_code=204, dependencies=[Operator])
async def saw(run: Identity, part: Part, seen: LoadPart, service: Service) -> None:
    """Tell what a load test has seen so far, in place of what it told before."""
    await service.saw(run, part, seen)
