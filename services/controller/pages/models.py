"""``/models``: what was trained here, how it went, and where it is served."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from leakrange.services.controller.pages.rendering import show
from leakrange.services.controller.visitors import Reading
from leakrange.store.engine import Database
from leakrange.store.models import Models
from leakrange.store.tables import ModelRow
from leakrange.wire.administration import Route
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.names import PublicNames
from leakrange.wire.operator import Proxy

router = APIRouter(include_in_schema=False)
A_PAGE = 50
DESCRIBED = ("honesty", "curiosity")
"""The figures of a model that its row shows."""
Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]


@router.get("/models")
async def models(
    request: Request, visitor: Reading, start: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
) -> Response:
    """Trained models, newest first, and the models that the proxy serves."""
    async with _database(request).read() as session:
        rows = await Models(session).page(limit=A_PAGE + 1, offset=start)
    routes, away = await _routes(request.app.state.administration)
    behaviours = {url: name for name, url in request.app.state.settings.providers.items()}
    served = {route.model.rpartition("-")[2]: route for route in routes}
    names: PublicNames = request.app.state.names
    return show(
        request,
        "models.html.j2",
        visitor=visitor,
        models=[_summary(row) for row in rows[:A_PAGE]],
        # A classifier's public name ends with what is made of its digest.
        served={row.digest: served.get(names.of("model", row.digest)) for row in rows},
        behaviours=behaviours,
        start=start,
        following=start + A_PAGE if len(rows) > A_PAGE else None,
        routes=routes,
        away=away,
    )


@router.get("/models/{digest}")
async def model(digest: Digest, request: Request, visitor: Reading) -> Response:
    """One model: its recipe, and how its training went."""
    async with _database(request).read() as session:
        row = await Models(session).get(digest)
    return show(request, "model.html.j2", visitor=visitor, model=_summary(row), recipe=_flat(row.recipe))


def _database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


async def _routes(proxy: Proxy) -> tuple[list[Route], str | None]:
    """The served models, or the reason why they are unknown: the list of trained models does not depend on
    them."""
    try:
        return await proxy.routes(), None
    except LeakrangeError as error:
        return [], error.detail


def _summary(row: ModelRow) -> dict[str, Any]:
    figures = row.figures.get("figures", {})
    history = row.figures.get("history", [])
    return {
        "digest": row.digest,
        "data": row.data,
        "behaviour": row.behaviour,
        "seed": row.seed,
        "created": row.created.isoformat(),
        "asks": row.recipe.get("parameters", {}).get("target"),
        "hides": row.recipe.get("parameters", {}).get("sensitive"),
        "net": row.recipe.get("net", {}),
        "parameters": row.figures.get("parameters"),
        "seconds": row.figures.get("seconds"),
        "reaches": {
            name: value
            for name, value in figures.get("test", {}).items()
            if isinstance(value, float) and name in DESCRIBED
        },
        "splits": {split: values for split, values in figures.items() if isinstance(values, dict)},
        "history": history,
        "measures": list(dict.fromkeys(name for epoch in history for name in epoch)),
    }


def _flat(recipe: dict[str, Any], above: str = "") -> dict[str, str]:
    """A recipe as lines: the path of each value, and the value; what is not set is left out."""
    lines: dict[str, str] = {}
    for name, value in recipe.items():
        if isinstance(value, dict) and value:
            lines |= _flat(value, f"{above}{name}.")
        elif value not in (None, {}, []):
            lines[above + name] = str(value)
    return lines
