"""``/runs/{run}/board``: what leaked in a run, drawn in the browser, and kept up while the run goes on."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from leakrange.metrics import described
from leakrange.report.as_data import theme
from leakrange.report.charts.drawing import Chart
from leakrange.report.charts.gallery import tile_of
from leakrange.report.charts.picture import Picture
from leakrange.report.lesson import lesson
from leakrange.report.narrowed import Narrowing
from leakrange.report.rendering import FOLD_AFTER
from leakrange.services.controller.pages.assets import CHARTS, address
from leakrange.services.controller.pages.rendering import fragment, show
from leakrange.services.controller.range.record import TooManyTrials
from leakrange.services.controller.reading.route import Expensive
from leakrange.services.controller.requests import Identity
from leakrange.services.controller.views.endpoints import Narrow, RunsOf, View, ViewsOf
from leakrange.services.controller.views.service import Held
from leakrange.services.controller.visitors import Reading, Visitor
from leakrange.wire.views import LessonStep

router = APIRouter(include_in_schema=False, route_class=Expensive)
ROWS = 500
"""The number of rows of a chart's data that are shown; the file has all."""


@router.get("/runs/{run}/board")
async def board(
    request: Request, run: Identity, visitor: Reading, service: ViewsOf, narrow: Narrow, runs: RunsOf
) -> Response:
    """The whole page; of a run with too many trials for it, what there is to choose a part from."""
    try:
        held = await service.contents(run, narrow)
    except TooManyTrials as error:
        short: dict[str, Any] = {"short": await runs.overview(run), "described": described}
        return show(request, "overview.html.j2", visitor=visitor, run=run, reason=error.detail, **short)
    values = _values(held, run, narrow)
    return await asyncio.to_thread(show, request, "board.html.j2", visitor=visitor, **values)


@router.get("/runs/{run}/board/parts")
async def parts(
    request: Request,
    run: Identity,
    visitor: Reading,
    service: ViewsOf,
    narrow: Narrow,
    seen: Annotated[str, Query(max_length=128)] = "",
) -> Response:
    """What changes while the run goes on; 204 where it is what was ``seen``."""
    held = await service.contents(run, narrow)
    if seen == _seen(held):
        return Response(status_code=204)
    values = _values(held, run, narrow)
    return HTMLResponse(await asyncio.to_thread(_fragment, request, visitor, values))


@router.get("/runs/{run}/board/{view}/table")
async def table(
    request: Request, run: Identity, view: View, visitor: Reading, service: ViewsOf, narrow: Narrow
) -> Response:
    """The data of a chart as a table."""
    picture = await service.picture(run, view, narrow)
    shown: dict[str, Any] = {"visitor": visitor, "picture": picture, "most": ROWS}
    return HTMLResponse(await asyncio.to_thread(fragment, request, "board_table.html.j2", **shown))


@router.get("/runs/{run}/sentences")
async def sentences(run: Identity, service: ViewsOf, runs: RunsOf) -> list[str]:
    """What was found in one sentence, and what to do, for the page of a run."""
    try:
        contents = (await service.contents(run)).contents
    except TooManyTrials:
        return [(await runs.overview(run)).sentence]
    first = contents.headline
    return [text for text in (first.sentence, first.recommendation, contents.part) if text]


@router.get("/runs/{run}/lesson")
async def told_to_a_class(
    run: Identity, provider: Annotated[str, Query(max_length=128)], service: ViewsOf
) -> list[LessonStep]:
    """What was found about one provider, step by step, for the page that a class looks at."""
    return lesson((await service.contents(run)).contents.findings, provider)


def _fragment(request: Request, visitor: Visitor, values: dict[str, Any]) -> str:
    return fragment(request, "board_parts.html.j2", visitor=visitor, **values)


def _seen(held: Held) -> str:
    return f"{held.stamp.state}-{held.stamp.events}"


def _values(held: Held, run: str, narrow: Narrowing) -> dict[str, Any]:
    named = {"provider": narrow.providers, "defence": narrow.defences, "attack": narrow.attacks}
    query = urlencode({name: sorted(chosen) for name, chosen in named.items()}, doseq=True)
    return {
        "run": run,
        "contents": held.contents,
        "results": held.contents.results,
        "seen": _seen(held),
        "events": held.stamp.events,
        "query": f"?{query}" if query else "",
        "chosen": named,
        "box": _box,
        "described": described,
        "tile_of": tile_of,
        "runtime": address(CHARTS),
        "theme": {placeholder: f"var({paint.variable})" for placeholder, paint in theme().items()},
        "fold_after": FOLD_AFTER,
    }


def _box(picture: Picture) -> tuple[int, int]:
    """The size that a chart will have, so that nothing on the page moves when it is drawn."""
    return picture.size if isinstance(picture, Chart) else (540, 400)
