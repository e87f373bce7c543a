"""One HTTP exchange on raw ASGI: the request, and the answer to it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, overload

import orjson
from starlette.types import Receive, Scope, Send

from leakrange.service.bodies import CLOSE, Lingering, has_body
from leakrange.wire.errors import BodyTooLarge, LeakrangeError, MalformedBody, UnsupportedMedia
from leakrange.wire.problems import PROBLEM
from leakrange.wire.tensors import JSON
from leakrange.wire.turns import LARGE

__all__ = ["CompleteAnswer", "Disconnected", "Headers", "MethodNotAllowed", "Request"]


class Disconnected(Exception):
    """The client went away before its request was complete."""


class MethodNotAllowed(LeakrangeError):
    """405: the path exists, but not for this method."""

    status, slug, title = 405, "method-not-allowed", "Method not allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(
            f"{method[:20]} is not allowed here", headers={"Allow": allowed}, hint=f"use {allowed}"
        )


class Headers:
    """Headers by lower-case names; each is decoded when it is read, since few are."""

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[bytes, bytes]) -> None:
        self.raw = raw

    @overload
    def get(self, name: bytes) -> str | None: ...
    @overload
    def get(self, name: bytes, default: str) -> str: ...
    def get(self, name: bytes, default: str | None = None) -> str | None:
        """The value of a header, or ``default``."""
        value = self.raw.get(name)
        return default if value is None else value.decode("latin-1")


class Request:
    """A request whose body has not been read."""

    __slots__ = ("headers", "method", "path", "query", "receive", "size", "unread")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        """The query string as it came; empty where there is none."""
        self.headers = Headers(dict(scope["headers"]))
        self.receive = receive
        self.size = 0
        """Bytes of the body that have been read."""
        self.unread = has_body(self.headers.raw)
        """Whether something of the body is still to come."""

    def answering(self, send: Send) -> Send:
        """The function to answer with: an answer before the end of the body must not be lost with the
        connection."""
        return Lingering(self.receive, send).send if self.unread else send

    @property
    def large(self) -> bool:
        """Whether the body is large, by the headers or by the part that has been read."""
        return max(self._declared, self.size) >= LARGE or b"transfer-encoding" in self.headers.raw

    @property
    def _declared(self) -> int:
        stated = self.headers.raw.get(b"content-length", b"0")
        return int(stated) if stated.isdigit() else 0

    async def body(self, *, limit: int, within: float | None = None) -> bytes:
        """Read the whole body: at most ``limit`` bytes, ``within`` so many seconds.

        Raises `BodyTooLarge` by the declared length at once, else as soon as the limit is passed;
        `MalformedBody` for one that does not come to its end; `UnsupportedMedia` for a compressed one;
        `Disconnected`.
        """
        coding = self.headers.get(b"content-encoding", "identity")
        if coding != "identity" and (coding := coding.strip().lower()) != "identity":
            raise UnsupportedMedia(
                f"content encoding {coding[:40]!r} is not read", hint="send it uncompressed"
            )
        if self._declared > limit:
            raise _too_large(limit)
        # For the beginning the server has a time limit of its own. Most bodies come whole, and need no timer.
        piece = await self._piece(limit)
        if not self.unread:
            return piece
        buffer = io.BytesIO()  # a list of pieces would have to be copied in the end
        buffer.write(piece)
        try:
            async with asyncio.timeout(within):
                while self.unread:
                    buffer.write(await self._piece(limit))
        except TimeoutError as error:
            raise MalformedBody(
                f"the body did not come to its end within {within:g} s", headers=dict(CLOSE)
            ) from error
        return buffer.getvalue()

    async def _piece(self, limit: int) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece: bytes = message.get("body", b"")
        self.size += len(piece)
        self.unread = message.get("more_body", False)
        if self.size > limit:
            raise _too_large(limit)
        return piece


def _too_large(limit: int) -> BodyTooLarge:
    # The connection must close: the rest of the body would be read in vain, or taken for a request.
    return BodyTooLarge(f"a request body may have {limit} bytes", headers=dict(CLOSE))


class CompleteAnswer(NamedTuple):
    """A complete answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})
    outcome: str = "answered"
    """Outcome for the metrics."""
    after: Callable[[], None] | None = None
    """Function to call once the answer has been sent."""

    @classmethod
    def json(cls, value: object) -> CompleteAnswer:
        """A successful answer."""
        return cls(200, orjson.dumps(value), {"Content-Type": JSON})

    @classmethod
    def problem(
        cls, error: LeakrangeError, path: str, more: Mapping[str, str] = MappingProxyType({})
    ) -> CompleteAnswer:
        """The RFC 9457 answer of an error, with ``more`` members."""
        body = orjson.dumps(error.problem(path) | dict(more), default=str)
        return cls(error.status, body, {"Content-Type": PROBLEM, **error.headers}, error.slug)

    async def send(self, send: Send) -> None:
        """Send the answer, with its length."""
        raw = [(_encoded(name), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status != 204:
            raw.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": raw})
        await send({"type": "http.response.body", "body": self.body})


@cache  # unbounded, since the names are the service's own
def _encoded(name: str) -> bytes:
    return name.lower().encode("latin-1")
