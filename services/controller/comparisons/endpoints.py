"""``/v1/compare``: two to six runs beside one another."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from leakrange.report.comparison import table
from leakrange.services.controller.comparisons.service import ComparisonService
from leakrange.services.controller.reading.route import Expensive
from leakrange.services.controller.requests import FORM, LONGEST, of_app
from leakrange.wire.comparison import Comparison

__all__ = ["ComparisonOf", "Runs", "router"]

router = APIRouter(prefix="/v1", tags=["runs"], route_class=Expensive)

ComparisonOf = Annotated[ComparisonService, of_app("comparisons")]
Runs = Annotated[
    list[Annotated[str, Query(max_length=LONGEST, pattern=FORM)]],
    Query(alias="run", max_length=50, default_factory=list),
]


@router.get("/compare", response_model=Comparison, responses={200: {"content": {"text/csv": {}}}})
async def compare(
    service: ComparisonOf,
    run: Runs,
    format: Annotated[str, Query(pattern="^(json|csv)$")] = "json",
) -> Response:
    """What the scenarios of two to six runs do differently, and every figure that the others share with the
    first: its change, with a 95 % interval paired by seed where the seeds are the same, else Welch's. As JSON
    with charts, or as CSV."""
    comparison = (await service.compare(run)).comparison
    if format == "csv":
        name = {"Content-Disposition": 'attachment; filename="comparison.csv"'}
        return Response(table(comparison).csv(), media_type="text/csv", headers=name)
    return Response(comparison.model_dump_json(), media_type="application/json")
