"""One connection to a server, with one request at a time: see `leakrange.services.proxy.http1`."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

import httptools

from leakrange.services.proxy.interim import MOST_INTERIM

__all__ = ["AnswerTooLarge", "BadAnswer", "NotSent", "PooledConnection", "Response"]

MAX_HEADER = 65_536
"""Bytes of an answer's header."""


class NotSent(ConnectionError):
    """The server did not get the request."""


class BadAnswer(OSError):
    """The data is no HTTP answer, or not all of one."""


class AnswerTooLarge(OSError):
    """The answer has more bytes than are allowed."""


class Response(NamedTuple):
    """A whole answer; header names are in lower case."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes

    def header(self, name: bytes) -> str | None:
        """The value of a header."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")


class PooledConnection(asyncio.Protocol):
    """One connection, with one request at a time."""

    since = 0.0
    """Time at which its last answer ended."""

    def __init__(self, largest: int, surplus: Callable[[], None]) -> None:
        """Wait for a connection; ``surplus`` is called where more data comes than was asked for."""
        self.loop = asyncio.get_running_loop()
        self._largest, self._surplus = largest, surplus
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._result: asyncio.Future[Response] | None = None
        self._whole: Response | None = None
        """The answer, until all data that came with it has been read."""
        self._used = False
        """Whether an answer came over it before."""
        self._unread = select.poll()
        self._doubtful = False
        """Whether more data came than was asked for."""
        self._keep, self._interim = True, 0
        self.answering = False
        """Whether a part of the answer has come."""
        self._status: int | None = None
        self._begin()

    @property
    def reusable(self) -> bool:
        """Whether another request may follow: not where the server answered before it had the whole last
        request."""
        transport = self._transport
        return (
            self._keep
            and transport is not None
            and not transport.is_closing()
            and transport.get_write_buffer_size() == 0
        )

    @property
    def unread(self) -> bool:
        """Whether data has come that the loop has not read yet."""
        return bool(self._unread.poll(0))

    async def ask(self, sent: bytes, rest: bytes) -> Response:
        """Send a request, in two parts, and return the whole answer."""
        if self._transport is None:
            raise NotSent("the server closed the connection")
        self.answering, self._interim = False, 0
        self._result = self.loop.create_future()
        self._transport.write(sent)
        if rest:
            self._transport.write(rest)
        try:
            return await self._result
        finally:
            self._result = None

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type
        self._unread.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._result is None or self._result.done():  # nobody asked
            self._too_much()
            self.abort()
            return
        self.answering = True
        if self._status is None:
            self._besides += len(data)
            if self._besides > MAX_HEADER + len(data):
                self.fail(BadAnswer(f"its header has more than {MAX_HEADER} bytes"))
                return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self._whole is None:  # otherwise the error is behind the answer
                self.fail(BadAnswer(f"it is no HTTP answer: {error}"))
        if self._whole is not None:
            self._finish(self._whole)

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._transport, self._keep = None, False
        if self._status is not None and self._to_the_end:
            self._finish(self._response())
        elif self.answering:
            self.fail(BadAnswer("the connection was closed in the middle of the answer"))
        else:
            self.fail(error or ConnectionResetError("the server closed the connection"))

    def on_message_begin(self) -> None:
        """Hear of the parser that an answer begins."""
        self._begin()
        if self._whole is not None:  # a second answer behind the one that was asked for
            self._too_much()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Hear of a header."""
        if self._status is None:  # trailers come by the same call
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Hear that the headers are complete."""
        self._status = self._parser.get_status_code()

    def on_body(self, piece: bytes) -> None:
        """Hear of a piece of the body."""
        self._size += len(piece)
        if self._size > self._largest:
            self.fail(AnswerTooLarge(f"it has more than {self._largest} bytes"))
        else:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """Hear that the answer is complete."""
        assert self._status is not None
        if 100 <= self._status < 200:  # not the answer yet
            self._interim += 1
            if self._interim > MOST_INTERIM:
                self.fail(BadAnswer(f"it sent more than {MOST_INTERIM} interim answers"))
            self._begin()
            return
        self._keep = self._keep and self._parser.should_keep_alive()
        if self._whole is None:
            self._whole = self._response()

    @property
    def _to_the_end(self) -> bool:
        return b"content-length" not in self._headers and b"transfer-encoding" not in self._headers

    def _begin(self) -> None:
        self._status = None
        self._headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._size = self._besides = 0

    def _response(self) -> Response:
        assert self._status is not None
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        return Response(self._status, self._headers, body)

    def _finish(self, answer: Response) -> None:
        self._whole = None
        if self._used and self._doubtful:
            self.fail(BadAnswer("more than one answer came, and the first may be to the request before"))
        elif self._result is not None and not self._result.done():
            self._used = True
            self._result.set_result(answer)

    def _too_much(self) -> None:
        self._keep, self._doubtful = False, True
        self._surplus()

    def fail(self, error: Exception) -> None:
        """End the request under way with ``error``, and the connection."""
        self._keep = False
        if self._result is not None and not self._result.done():
            self._result.set_exception(error)
        self.abort()
