"""``/victim``: release one picture, and see what providers make of the answer alone."""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse

from leakrange.defences.chain import STAGES
from leakrange.scenario.shipped import shipped
from leakrange.services.controller.pages.rendering import fragment, see_other, show
from leakrange.services.controller.pages.run_actions import RunsOf
from leakrange.services.controller.requests import FORM, LONGEST
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.victim.endpoints import VictimOf
from leakrange.services.controller.victim.service import SCENARIO
from leakrange.services.controller.visitors import Acting, Reading
from leakrange.wire.errors import InvalidInput
from leakrange.wire.runs import RunView
from leakrange.wire.trying import MOST_TEXT, AttributeRelease, TrialOffer, Tried, Try, TryView

router = APIRouter(include_in_schema=False)

Run = Annotated[str, Path(max_length=LONGEST, pattern=FORM)]
Data = Annotated[str | None, Query(max_length=128)]
RECENT = 20
"""The number of newest runs among which the one is sought that is being trained for trying."""


@router.get("/victim")
async def newest(
    request: Request, visitor: Reading, service: VictimOf, runs: RunsOf, data: Data = None
) -> Response:
    """The newest run that has honest, curious and vicious providers; without one, how to get it."""
    view = await service.view(begin=True)
    if view.run is None:
        coming = await _coming(runs)
        return show(request, "victim_none.html.j2", visitor=visitor, coming=coming, scenario=SCENARIO)
    return _page(request, visitor, view, data)


@router.post("/victim/start", dependencies=[Acting])
async def start(service: RunsOf) -> Response:
    """Start the scenario that is made to be tried, unless it is under way."""
    if await _coming(service) is None:
        await service.start(shipped()[SCENARIO].text.encode())
    return see_other("/victim")


@router.get("/victim/{run}")
async def of_run(
    request: Request, visitor: Reading, service: VictimOf, run: Run, data: Data = None
) -> Response:
    """What can be tried of one run."""
    return _page(request, visitor, await service.view(run, begin=True), data)


@router.get("/victim/{run}/ready")
async def ready(
    request: Request, visitor: Reading, service: VictimOf, run: Run, data: Data = None
) -> Response:
    """Whether the models stand: a line that asks again until they do."""
    view = await service.view(run, begin=True)
    chosen = _chosen(view, data)
    return HTMLResponse(fragment(request, "victim_ready.html.j2", visitor=visitor, view=view, chosen=chosen))


@router.post("/victim/{run}/try")
async def attempt(
    request: Request,
    visitor: Reading,
    service: VictimOf,
    run: Run,
    data: Annotated[str, Form(max_length=128)],
    place: Annotated[int | None, Form(ge=0, le=10_000)] = None,
    drawing: Annotated[str | None, Form(max_length=MOST_TEXT)] = None,
    digit: Annotated[str, Form(max_length=2)] = "",
) -> Response:
    """Release one sample; show what each provider made of it, as a part of the page, or as a whole page
    without scripts."""
    if place is None and not drawing:
        raise InvalidInput("nothing is drawn yet", hint="draw a digit, or pick one that is ready")
    tried = await service.tried(
        Try(
            run=run,
            data=data,
            place=place,
            drawing=None if place is not None else drawing,
            digit=int(digit) if digit.isdecimal() and int(digit) < 10 else None,
        )
    )
    if "HX-Request" in request.headers:
        return HTMLResponse(
            fragment(request, "victim_told.html.j2", visitor=visitor, swapped=True, **_tried_values(tried))
        )
    return _page(request, visitor, await service.view(run), data, tried)


def _page(
    request: Request, visitor: Any, view: TryView, data: str | None, tried: Tried | None = None
) -> Response:
    return show(
        request,
        "victim.html.j2",
        visitor=visitor,
        view=view,
        chosen=_chosen(view, data),
        swapped=False,
        **(_tried_values(tried) if tried is not None else {"told": None}),
    )


def _chosen(view: TryView, data: str | None) -> TrialOffer:
    return next((each for each in view.offered if each.data == data), view.offered[0])


def _tried_values(tried: Tried) -> dict[str, Any]:
    return {"told": tried, "said": {row.defence: _in_words(row.chain) for row in tried.rows}, "bars": bars}


async def _coming(service: RunService) -> RunView | None:
    """The run of the scenario that is under way, if one is."""
    runs = (await service.page(RECENT, None)).runs
    return next((run for run in runs if run.name == SCENARIO and run.state in ("queued", "running")), None)


def _in_words(chain: list[str]) -> str:
    """The effect of a defence on the release, in words."""
    if not chain:
        return "All numbers leave as they are."
    text = "; then ".join(_summaries().get(name, name) for name in chain)
    return f"{text[0].upper()}{text[1:]}."


@cache
def _summaries() -> dict[str, str]:
    return {name: entry.summary for stage in STAGES.values() for name, entry in stage.items()}


class Bar(NamedTuple):
    """A bar of the drawing of a release: ``top`` and ``high`` in its units; ``most`` marks the greatest of
    its attribute."""

    left: float
    top: float
    high: float
    most: bool
    label: str


WIDE, GAP, HIGH = 10.0, 6.0, 40.0


def bars(heads: list[AttributeRelease]) -> tuple[float, float, list[Bar]]:
    """Width, height of the zero line from the top, and the bars of a release, all on one scale."""
    values = [value for head in heads for value in head.values]
    top, bottom = max(0.0, *values), min(0.0, *values)
    scale = HIGH / ((top - bottom) or 1.0)
    drawn, left = [], 0.0
    for head in heads:
        for name, value in zip(head.classes, head.values, strict=True):
            high = max(abs(value) * scale, 0.6)
            at = (top - max(value, 0.0)) * scale
            most = math.isclose(value, max(head.values))
            drawn.append(Bar(left, at, high, most, f"{head.attribute} {name}: {value:g}"))
            left += WIDE
        left += GAP
    return left - GAP, top * scale, drawn
