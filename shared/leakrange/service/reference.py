"""``/docs``: the API of a server for people, by a Swagger UI that this server brings along itself."""

from __future__ import annotations

import asyncio
from functools import cache
from html import escape
from importlib.resources import files

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from leakrange.service.documents import PAGES, Asset
from leakrange.wire.errors import NotFound

__all__ = ["add_reference"]

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/begin.js"></script>
</body>
</html>
"""
_BEGIN = b"""\
SwaggerUIBundle({ url: "openapi.json", dom_id: "#reference", deepLinking: true, validatorUrl: null });
"""
_OF_SWAGGER = ("swagger-ui.css", "swagger-ui-bundle.js")


@cache
def _asset(name: str) -> Asset:
    if name == "begin.js":
        return Asset.of(name, _BEGIN)
    if name in _OF_SWAGGER:
        return Asset.of(name, (files("fastapi_offline") / "static" / name).read_bytes())
    raise NotFound(f"there is no asset {name!r}")


def add_reference(app: FastAPI) -> None:
    """Let ``app`` describe itself at ``/docs``, without network and third-party scripts."""

    @app.get("/openapi.json", include_in_schema=False)
    def description() -> Response:  # in a thread: making it takes half a second
        return Response(orjson.dumps(app.openapi()), media_type="application/json")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(_PAGE.format(title=escape(app.title)), headers={"Content-Security-Policy": PAGES})

    @app.get("/docs/{name}", include_in_schema=False)
    async def asset(name: str, request: Request) -> Response:
        file = await asyncio.to_thread(_asset, name)
        return file.answer(request, "public, max-age=3600")
