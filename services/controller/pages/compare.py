"""``/compare``: runs beside one another."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from leakrange.metrics import numbers
from leakrange.metrics.registry import Unit
from leakrange.report.comparison import LETTERS
from leakrange.services.controller.comparisons.endpoints import ComparisonOf, Runs
from leakrange.services.controller.pages.rendering import show
from leakrange.services.controller.reading.route import Expensive
from leakrange.services.controller.requests import of_app
from leakrange.services.controller.runs.reader import RunReader
from leakrange.services.controller.visitors import Reading
from leakrange.wire.comparison import Change

router = APIRouter(include_in_schema=False, route_class=Expensive)
ReaderOf = Annotated[RunReader, of_app("runs")]
OFFERED = 50
"""The number of newest runs that can be chosen."""


@router.get("/compare")
async def compare(
    request: Request, visitor: Reading, service: ComparisonOf, runs: ReaderOf, run: Runs
) -> Response:
    """What differs between the runs that are named; with fewer than two, which there are."""
    offered = (await runs.page(OFFERED, None)).runs
    chosen = list(dict.fromkeys(run))
    values: dict[str, Any] = {
        "offered": offered,
        "chosen": chosen,
        "most": len(LETTERS),
        "query": urlencode({"run": chosen}, doseq=True),
        "found": None,
        "pictures": [],
        "changed": changed,
        "between": between,
    }
    if len(chosen) > 1:
        compared = await service.compare(chosen)
        values |= {"found": compared.comparison, "pictures": compared.pictures}
    return await asyncio.to_thread(show, request, "compare.html.j2", visitor=visitor, **values)


def changed(value: float, unit: Unit) -> str:
    """A change with its sign, of shares in points: "+1.2"."""
    if unit == "share":
        return numbers.signed(value)
    sign = "+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else ""
    return sign + numbers.bare(abs(value), unit)


def between(change: Change, unit: Unit) -> str:
    """The interval of a change; if there is none, the reason."""
    if change.low is None or change.high is None:
        return "one seed"
    return f"{changed(change.low, unit)} to {changed(change.high, unit)}"
