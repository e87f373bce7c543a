"""Routes that bypass the framework: how they are declared, how they read pictures and write values.

Their handlers get the bare request and give the bare response, without dependency solving and validation in
between. They still stand in the OpenAPI document.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from numpy.typing import NDArray

from leakrange.wire.schemas import MODEL_VERSION, ModelCard
from leakrange.wire.tensors import JSON, NPY, encode_npy

__all__ = ["BareRoute", "Handler", "read_body", "values_response"]

Handler = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")
BIG = 256 * 1024
"""Bytes of a body from which reading it would hold up the others, and goes to a thread."""


class BareRoute(APIRoute):
    """A documented route whose handler takes the request and gives the response itself."""

    def get_route_handler(self) -> Any:
        """The handler itself, with nothing around it."""
        return self.endpoint


async def read_body(request: Request, read: Callable[[str | None, bytes], T]) -> T:
    """``read(content type, body)``, in a thread where the body is big."""
    body = await request.body()
    content_type = request.headers.get("content-type")
    if len(body) < BIG:
        return read(content_type, body)
    return await asyncio.to_thread(read, content_type, body)


def values_response(
    card: ModelCard,
    release: str,
    values: NDArray[Any],
    wanted: str,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> Response:
    """Values (B, N) as ``wanted``: npy, or JSON with what describes them, and with ``more`` beside."""
    headers = {MODEL_VERSION: card.version, **(headers or {})}
    if wanted == NPY:
        return Response(encode_npy(values), media_type=NPY, headers=headers)
    answer = {"model": card.name, "version": card.version, "release": release, "values": values, **more}
    content = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(content, media_type=JSON, headers=headers)
