"""``/v1/runs/{run}/views``, ``…/results``, ``…/report``: what a run found, for front ends and as files."""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi.responses import StreamingResponse

from leakrange.report.as_data import as_data
from leakrange.report.charts.gallery import StripGallery
from leakrange.report.charts.standalone import standalone
from leakrange.report.narrowed import Narrowing
from leakrange.report.page import SCRIPT
from leakrange.report.rendering import policy
from leakrange.report.table import ArrowTable, CsvTable, TrialTable
from leakrange.scenario.results import RunResults
from leakrange.services.controller.reading.route import Expensive
from leakrange.services.controller.requests import Identity, of_app
from leakrange.services.controller.runs.reader import RunReader
from leakrange.services.controller.views.service import ViewService
from leakrange.wire.errors import NotAcceptable, NotFound
from leakrange.wire.views import PictureView, RunOverview, RunViews

__all__ = ["Narrow", "View", "ViewsOf", "router"]

router = APIRouter(prefix="/v1/runs", tags=["views"], route_class=Expensive)
MOST_NAMES = 200
_OF_REPORT = {"Content-Security-Policy": f"{policy(SCRIPT)}; frame-ancestors 'none'"}

TABLES: dict[str, type[TrialTable]] = {"csv": CsvTable, "arrow": ArrowTable}
RunsOf = Annotated[RunReader, of_app("runs")]
ViewsOf = Annotated[ViewService, of_app("views")]
Names = Annotated[list[str], Query(default_factory=list, max_length=MOST_NAMES)]


def _narrowing(provider: Names, defence: Names, attack: Names) -> Narrowing:
    return Narrowing.to(provider, defence, attack)


Narrow = Annotated[Narrowing, Depends(_narrowing)]
"""What to keep of a run: parameters that may be given several times. The undefended case always stays."""
View = Annotated[str, Path(max_length=128, pattern=r"^[A-Za-z0-9_.-]+$", examples=["plane-6a7c1e02f4"])]
"""The name of a view, from the list of all."""


@router.get("/{run}/views")
async def views(run: Identity, service: ViewsOf, narrow: Narrow) -> RunViews:
    """What a run found so far: sentences, key figures, and charts by section, of which each has its
    definition and a Vega-Lite specification, pictures, or an SVG. The report and the pages show the same.
    Colours in specifications are placeholders; ``theme`` says what they stand for."""
    held = await service.contents(run, narrow)
    return await asyncio.to_thread(as_data, held.contents)


@router.get("/{run}/views/{view}")
async def view(run: Identity, view: View, service: ViewsOf, narrow: Narrow) -> PictureView:
    """One chart with all of its data as a table."""
    chart = await service.picture(run, view, narrow)
    return await asyncio.to_thread(chart.data, table=True)


def _file(media_type: str) -> dict[int | str, dict[str, object]]:
    return {200: {"content": {media_type: {}}}}


@router.get("/{run}/views/{view}/table", response_class=Response, responses=_file("text/csv"))
async def table(run: Identity, view: View, service: ViewsOf, narrow: Narrow) -> Response:
    """The data of a chart as CSV: all points, also where fewer are drawn."""
    chart = await service.picture(run, view, narrow)
    name = {"Content-Disposition": f'attachment; filename="{run}-{view}.csv"'}
    return Response(chart.table.csv(), media_type="text/csv", headers=name)


@router.get("/{run}/views/{view}/picture", response_class=Response, responses=_file("image/svg+xml"))
async def picture(run: Identity, view: View, service: ViewsOf, narrow: Narrow) -> Response:
    """The chart as an SVG file that stands alone, in light colours."""
    chart = await service.picture(run, view, narrow)
    return Response(await asyncio.to_thread(standalone, chart), media_type="image/svg+xml")


@router.get("/{run}/views/{view}/strips/{number}", response_class=Response, responses=_file("image/png"))
async def strip(
    run: Identity,
    view: View,
    number: Annotated[int, Path(ge=0, le=10_000)],
    service: ViewsOf,
    narrow: Narrow,
) -> Response:
    """One strip of pictures of a gallery, from 0 on."""
    chart = await service.picture(run, view, narrow)
    if not isinstance(chart, StripGallery) or number >= len(chart.strips):
        raise NotFound(f"view {view!r} has no strip {number}")
    return Response(base64.b64decode(chart.strips[number].png), media_type="image/png")


@router.get("/{run}/report", response_class=Response, responses=_file("text/html"))
async def report(run: Identity, service: ViewsOf, narrow: Narrow) -> Response:
    """The run's report: one self-contained HTML page, of the whole run or of a part. 409 where that has more
    than 20,000 trials: ``overview`` says by which names it can be narrowed."""
    page = await service.report(run, narrow)
    return Response(page, media_type="text/html; charset=utf-8", headers=_OF_REPORT)


@router.get("/{run}/overview")
async def overview(run: Identity, runs: RunsOf) -> RunOverview:
    """A run of any size in short: its trials by state, by provider, defence and attack, and of each attack
    on each provider behind each defence the cell that leaks most, over its seeds."""
    return await runs.overview(run)


@router.get(
    "/{run}/results",
    response_model=RunResults,
    responses={200: {"content": {each.media_type: {} for each in TABLES.values()}}},
)
async def results(
    run: Identity,
    service: ViewsOf,
    runs: RunsOf,
    narrow: Narrow,
    accept: Annotated[str | None, Header()] = None,
    format: Annotated[Literal["json", "csv", "arrow"] | None, Query()] = None,
) -> Response:
    """All trials, models and summaries so far as JSON, or the trials of any run or part of one as CSV or as
    a stream of Arrow record batches (one row a trial), which come as they are read."""
    wanted = (accept or "*/*").lower()
    form: str | None = format or next(
        (name for name, each in TABLES.items() if each.media_type in wanted), None
    )
    if form is None and not any(kind in wanted for kind in ("json", "*/*", "application/*")):
        raise NotAcceptable(
            "results come as application/json, text/csv or Arrow", hint="use ?format=json, csv or arrow"
        )
    if form not in TABLES:
        return Response(await service.file(run), media_type="application/json")
    table, name = TABLES[form], {"Content-Disposition": f'attachment; filename="{run}.{form}"'}
    pieces = await runs.as_table(run, table, narrow)
    return StreamingResponse(pieces, media_type=table.media_type, headers=name)
