"""``/static``: scripts and styles, from this package alone, so that pages work without any network.

Their address holds a digest of all of them: browsers keep them for good, and ask again after an upgrade.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from leakrange.service.documents import Asset
from leakrange.services.controller.reading.route import Expensive
from leakrange.wire.errors import NotFound

__all__ = ["CHARTS", "address", "charts", "router"]

router = APIRouter(include_in_schema=False)
charts = APIRouter(include_in_schema=False, route_class=Expensive)

CHARTS = "vega.js"
"""Vega, Vega-Lite and Vega-Embed, as vl-convert brings them along: ``window.vegaEmbed``."""
_STATIC = files("leakrange.services.controller.pages") / "static"
_STYLE = files("leakrange") / "report" / "templates" / "page.css"
_FOR_GOOD = "public, max-age=31536000, immutable"


@cache
def _assets() -> dict[str, Asset]:
    contents = {entry.name: entry.read_bytes() for entry in _STATIC.iterdir() if "." in entry.name}
    # The style of reports is that of pages as well.
    contents["page.css"] = _STYLE.read_bytes()
    return {name: Asset.of(name, content) for name, content in contents.items()}


@cache
def _bundled() -> Asset:
    # The library brings a JavaScript engine: it is loaded where somebody looks at a chart.
    import vl_convert

    return Asset.of(CHARTS, vl_convert.javascript_bundle().encode())  # type: ignore[call-arg]  # has a default


@cache
def _digest() -> str:
    digest = hashlib.sha256(version("vl-convert-python").encode())
    for name, asset in sorted(_assets().items()):
        digest.update(name.encode() + asset.plain)
    return digest.hexdigest()[:12]


def address(name: str) -> str:
    """The address of the asset of that name."""
    return f"/static/{_digest()}/{name}"


@charts.get(f"/static/{{digest}}/{CHARTS}")
async def chart_library(digest: str, request: Request) -> Response:
    """Vega and what belongs to it. It is put together once, which takes seconds and every thread's time."""
    return _bundled().answer(request, _lasting(digest))


@router.get("/static/{digest}/{name}")
async def asset(digest: str, name: str, request: Request) -> Response:
    """The asset. For the address of another version the present one is served, and not kept."""
    entry = _assets().get(name)
    if entry is None:
        raise NotFound(f"there is no asset {name!r}")
    return entry.answer(request, _lasting(digest))


def _lasting(digest: str) -> str:
    return _FOR_GOOD if digest == _digest() else "no-store"
