"""Security policies of answers that browsers show as documents, and the files of pages."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["FILES", "PAGES", "Asset", "Confined"]

_NOTHING = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
PAGES = (
    # Charts and meters carry their own measures in style attributes.
    _NOTHING + "script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; form-action 'self'"
)
"""The content security policy of a page: everything that it loads, runs or asks is of its own server."""
FILES = _NOTHING + "style-src 'unsafe-inline'; img-src data:; form-action 'none'"
"""The policy of all other answers, should a browser show them: they run nothing and load nothing."""
_HEADERS = {
    "Content-Security-Policy": FILES,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class Confined:
    """Gives every answer of ``app`` the policy `FILES` unless it has its own.

    Browsers then believe the declared content type, and send no referrer to others.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""

        async def confined(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, confined)


@dataclass(frozen=True)
class Asset:
    """A file that a page loads, as it is and compressed."""

    plain: bytes
    packed: bytes
    media_type: str

    @classmethod
    def of(cls, name: str, content: bytes) -> Asset:
        """Compress the ``content`` of the file ``name``, whose suffix tells its type: css, js or svg.
        Compressing a large one takes a moment."""
        return cls(content, gzip.compress(content, 9), _TYPES[name.rpartition(".")[2]])

    def answer(self, request: Request, cache: str) -> Response:
        """Answer a request for it, compressed if the client can read that; ``cache`` is the ``Cache-Control``
        header."""
        headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, media_type=self.media_type, headers=headers)
        return Response(self.plain, media_type=self.media_type, headers=headers)
