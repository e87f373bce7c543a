"""``/``: a static page that reads the API and shows the runs live."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Response

router = APIRouter(include_in_schema=False)
PAGE = files("services.controller.page").joinpath("runs.html").read_bytes()
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:"
)


@router.get("/")
async def page() -> Response:
    """The page."""
    return Response(PAGE, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": POLICY})
