"""HTTP transports behind one small interface: httpx for people and tests, aiohttp where speed matters.

The body of an answer comes from a server that is not trusted: it is bounded once it is unpacked.
"""

from __future__ import annotations

import os
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any, Protocol

import aiohttp
import httpx

from leakrange.wire.answers import Answer
from leakrange.wire.errors import InvalidInput, Unavailable, UpstreamFailed

__all__ = ["ACCEPTED", "AiohttpTransport", "HttpxTransport", "Received", "Transport", "in_words"]

ACCEPTED = "gzip"
"""The encodings in ``Accept-Encoding``. Of the others some unpack a million times their size at once."""
_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""By encoding, how zlib is told of it."""


class Received:
    """Takes the pieces of a body, packed by the answer's ``Content-Encoding``, from ``place``.

    A piece is never unpacked further than to ``most`` bytes of the whole. Raises `UpstreamFailed` for an
    encoding that is not read (several on top of each other, for one), and for a body that is longer.
    """

    def __init__(self, encoding: str | None, most: int, place: str) -> None:
        name = (encoding or "identity").strip().lower()
        if name not in ("", "identity", *_WINDOW):
            raise UpstreamFailed(f"the answer from {place} is packed as {name[:60]!r}, which is not read")
        self._window = _WINDOW.get(name)
        self._unpacking = None if self._window is None else zlib.decompressobj(self._window)
        self._body, self._most, self._place = bytearray(), most, place

    def add(self, piece: bytes) -> None:
        """Add the next piece, still packed. Raises `UpstreamFailed` if the body gets too long, and
        `Unavailable` if it cannot be unpacked."""
        if self._window is None:
            self._body += piece
        while self._unpacking is not None and piece and len(self._body) <= self._most:
            if self._unpacking.eof:  # another member follows
                self._unpacking = zlib.decompressobj(self._window or 0)
            try:
                self._body += self._unpacking.decompress(piece, self._most + 1 - len(self._body))
            except zlib.error as error:
                raise Unavailable(f"the answer from {self._place} cannot be unpacked: {error}") from error
            piece = self._unpacking.unused_data or self._unpacking.unconsumed_tail
        if len(self._body) > self._most:
            raise UpstreamFailed(f"the answer from {self._place} is longer than {self._most} bytes")

    def whole(self) -> bytes:
        """Return the body, once all pieces are there. Raises `Unavailable` if a packed body is cut short."""
        if self._unpacking is not None and self._body and not self._unpacking.eof:
            raise Unavailable(f"the answer from {self._place} is cut short")
        return bytes(self._body)


MAX_ANSWER = 272 * 2**20
"""A little over the largest model file that is read."""
HINT = "is the server up?"
_ACCEPTED = {"Accept-Encoding": ACCEPTED}


class Transport(Protocol):
    """Sends one request and returns the whole answer. Redirects are returned, never followed.

    Raises `Unavailable` if the server cannot be reached or breaks off; `InvalidInput` for an address that is
    not HTTP.
    """

    async def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        """Send and wait for the whole answer."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class HttpxTransport:
    """For people, the edge client, and tests over ASGI (``app``). Use it for few connections only.
    ``trust_env``: through the environment's proxies. ``hint`` says what to do if nobody answers."""

    def __init__(
        self, *, timeout: float = 30.0, app: Any = None, trust_env: bool = True, hint: str = HINT
    ) -> None:
        inner = httpx.ASGITransport(app=app) if app is not None else None
        # uvicorn closes idle connections after 5 s: none is used that it may be closing.
        limits = httpx.Limits(keepalive_expiry=4.0)
        self._client = httpx.AsyncClient(timeout=timeout, transport=inner, trust_env=trust_env, limits=limits)
        self._hint = hint

    async def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        """See `Transport`."""
        place = _place(url)
        try:
            async with self._client.stream(method, url, headers=_ACCEPTED | headers, content=body) as answer:
                received = await _whole(answer.aiter_raw(), answer.headers.get("content-encoding"), place)
        except httpx.RequestError as error:
            raise Unavailable(
                f"no answer from {place}: {error or type(error).__name__}", hint=self._hint
            ) from error
        return Answer(answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, received)

    async def close(self) -> None:
        """See `Transport`."""
        await self._client.aclose()


class AiohttpTransport:
    """For the fleet's probing: many connections at a tenth of the cost. Create it inside the running event
    loop."""

    def __init__(self, *, timeout: float = 30.0, connections: int = 64) -> None:
        self._session = aiohttp.ClientSession(
            # uvicorn closes idle connections after 5 s, which a loop that stands still between requests does
            # not notice.
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=4.0),
            timeout=aiohttp.ClientTimeout(total=timeout),
            auto_decompress=False,
        )

    async def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        """See `Transport`."""
        place = _place(url)
        try:
            async with self._session.request(
                method, url, headers=_ACCEPTED | headers, data=body, allow_redirects=False
            ) as answer:
                encoding = answer.headers.get("content-encoding")
                received = await _whole(answer.content.iter_any(), encoding, place)
                return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, received)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"no answer from {place}: {in_words(error)}", hint=HINT) from error

    async def close(self) -> None:
        """See `Transport`."""
        await self._session.close()


async def _whole(pieces: AsyncIterator[bytes], encoding: str | None, place: str) -> bytes:
    """Read the body, of at most `MAX_ANSWER` bytes, compressed or not."""
    received = Received(encoding, MAX_ANSWER, place)
    async for piece in pieces:
        received.add(piece)
    return received.whole()


@lru_cache(maxsize=1024)
def _place(url: str) -> str:
    """Return scheme, host and port for messages: the rest of an address may hold names."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise InvalidInput(f"{url[:200]!r} is not an address") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidInput(f"{url[:200]!r} is not an HTTP address", hint="write it as http://host:port")
    return f"{parsed.scheme}://{parsed.netloc.decode()}"


def in_words(error: Exception) -> str:
    """The reason why aiohttp reached nobody, without what only its authors understand: "Connection
    refused"."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, TimeoutError):
        return "it took too long"
    number = cause.errno if isinstance(cause, OSError) else None
    if isinstance(cause, socket.gaierror | ssl.SSLError) or not number:  # their numbers are not the system's
        return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return os.strerror(number)
