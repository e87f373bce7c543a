"""Routes that bypass the framework: how they are declared, read samples and write values.

Their handlers get the bare request and give the bare response, without dependency solving and validation in
between. They still appear in the OpenAPI document.
"""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from numpy.typing import NDArray

from leakrange.service.memory import give_back_memory
from leakrange.wire.schemas import MODEL_VERSION, ModelCard
from leakrange.wire.tensors import NPY, encode_npy
from leakrange.wire.turns import LARGE, in_turns

Handler = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class BareRoute(APIRoute):
    """A documented route whose handler takes the request and gives the response itself."""

    def get_route_handler(self) -> Any:
        """The handler itself, with nothing around it."""
        return self.endpoint


async def read_body(request: Request, steps: Callable[[str | None, bytes], Generator[Any, None, T]]) -> T:
    """The result of ``steps(content type, body)``; a large body takes turns with others of its kind."""
    buffer = io.BytesIO()  # a list of pieces would have to be copied in the end
    async for piece in request.stream():
        buffer.write(piece)
    body = buffer.getvalue()
    del buffer
    try:
        return await in_turns(steps(request.headers.get("content-type"), body), len(body))
    finally:
        if len(body) >= LARGE:
            give_back_memory()


def values_response(
    card: ModelCard,
    release: str,
    values: NDArray[Any],
    accepted: str,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> Response:
    """The response with values (B, N) in the media type ``accepted``: npy, or JSON that also describes them
    and has the fields of ``more``."""
    headers = {MODEL_VERSION: card.version, **(headers or {})}
    content = values_bytes(card, release, values, accepted, **more)
    return Response(content, media_type=accepted, headers=headers)


def values_bytes(card: ModelCard, release: str, values: NDArray[Any], accepted: str, **more: Any) -> bytes:
    """The body of that response."""
    if accepted == NPY:
        return encode_npy(values)
    answer = {"model": card.name, "version": card.version, "release": release, "values": values, **more}
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)


def version_header(card: ModelCard) -> tuple[bytes, bytes]:
    """The header by which users notice another version of the model."""
    return _VERSION, card.version.encode("latin-1")


_VERSION = MODEL_VERSION.lower().encode()
