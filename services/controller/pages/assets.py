"""``/static``: scripts and styles, from this package alone, so that pages work without any network.

Their address holds a digest of all of them: browsers keep them for good, and ask again after an upgrade.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from leakrange.service.documents import Asset
from leakrange.wire.errors import NotFound

__all__ = ["CHARTS", "address", "bundle_charts", "router"]

router = APIRouter(include_in_schema=False)

CHARTS = "vega.js"
"""Vega, Vega-Lite and Vega-Embed, as vl-convert brings them along: ``window.vegaEmbed``."""
_STATIC = files("services.controller.pages") / "static"
_STYLE = files("leakrange") / "report" / "templates" / "page.css"
_BUNDLING = threading.Lock()  # it takes seconds: once, whoever asks meanwhile
_FOR_GOOD = "public, max-age=31536000, immutable"


@cache
def _assets() -> dict[str, Asset]:
    found = {entry.name: entry.read_bytes() for entry in _STATIC.iterdir() if "." in entry.name}
    # The style of reports is that of pages as well.
    found["page.css"] = _STYLE.read_bytes()
    return {name: Asset.of(name, content) for name, content in found.items()}


def _charts() -> Asset:
    with _BUNDLING:
        return _bundled()


@cache
def _bundled() -> Asset:
    # The library brings a JavaScript engine: it is loaded where somebody looks at a chart.
    import vl_convert

    return Asset.of(CHARTS, vl_convert.javascript_bundle().encode())  # type: ignore[call-arg]  # has a default


@cache
def _digest() -> str:
    told = hashlib.sha256(version("vl-convert-python").encode())
    for name, asset in sorted(_assets().items()):
        told.update(name.encode() + asset.plain)
    return told.hexdigest()[:12]


def bundle_charts() -> None:
    """Begin to bundle the chart library, before a browser asks for it."""
    if not _bundled.cache_info().currsize:
        asyncio.get_running_loop().run_in_executor(None, _charts)


def address(name: str) -> str:
    """Where a page finds the asset of that name."""
    return f"/static/{_digest()}/{name}"


@router.get("/static/{digest}/{name}")
async def asset(digest: str, name: str, request: Request) -> Response:
    """The asset. One of another version is served as it is now, and not kept."""
    found = await asyncio.to_thread(_charts) if name == CHARTS else _assets().get(name)
    if found is None:
        raise NotFound(f"there is no asset {name!r}")
    return found.answer(request, _FOR_GOOD if digest == _digest() else "no-store")
