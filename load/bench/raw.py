"""Whole bodies on raw ASGI, for servers that must cost as little as possible."""

from __future__ import annotations

from starlette.types import Receive, Send

__all__ = ["answer", "whole_body"]


async def whole_body(receive: Receive) -> bytes:
    """The request's body."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def answer(send: Send, status: int, media: str, content: bytes) -> None:
    """Send a whole answer of that media type."""
    headers = [(b"content-type", media.encode()), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
