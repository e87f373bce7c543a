"""A lean HTTP/1.1 client: one request and its whole answer over a pooled connection, in one wake-up.

It serves the requests to providers, of which there are thousands a second: aiohttp takes four times as long
for one. Files, which are passed on piece by piece, go over aiohttp all the same.

HTTP/1.1 does not say to which request an answer belongs: it is the answer to the next one. A server that
sends two answers to one request could so have the second taken for the answer to somebody else's. Connections
are therefore shared only by the requests of one route, and data that nobody asked for ends the connection
before anything is sent over it. If such data comes later, while the next request is on its way, it cannot be
distinguished from a fast answer. So a route whose server has once sent too much gets a new connection for
each request.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, cast

import httptools
import structlog
from yarl import URL

from leakrange.services.proxy.interim import MOST_INTERIM
from leakrange.wire.turns import LARGE

__all__ = ["AnswerTooLarge", "BadAnswer", "Client", "Response"]

log = structlog.get_logger("leakrange.proxy.http1")

MAX_HEADER = 65_536
"""Bytes of an answer's header."""
IDLE = 4.0
"""Seconds for which a connection waits for another request. uvicorn closes it after 5: it is closed earlier
here, so that no request meets a closing one."""
CONNECT = 5.0
DISTRUST = 600.0
"""Seconds for which no connection of a route is used again after its server sent data that nobody asked
for."""
REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
"""Methods of requests that may be sent again where the server closed a connection that had waited."""


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


class _Place(NamedTuple):
    host: str
    port: int
    encrypted: bool


class Client:
    """Connections to any number of servers, ``most`` of them in use at a time.

    timeout: seconds for a whole answer. largest: bytes of its body.
    """

    def __init__(self, *, timeout: float, largest: int, most: int, headers: Mapping[str, str]) -> None:
        self._timeout, self._largest = timeout, largest
        self._free = asyncio.Semaphore(most)
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._idle: dict[str, deque[_PooledConnection]] = {}
        """Idle connections by route."""
        self._distrusted: dict[str, float] = {}
        """End of the distrust, by route."""
        self._sweep: asyncio.TimerHandle | None = None
        self._busy: dict[_PooledConnection, float] = {}
        """The connections that wait for an answer, with their deadlines: the first is the first to end."""
        self._watch: asyncio.TimerHandle | None = None

    async def ask(
        self, method: str, route: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        """The answer, whatever its status. ``route`` is the beginning of a URL, ``path`` the rest of it:
        requests of one route share connections.

        Raises `TimeoutError`, `AnswerTooLarge`, `BadAnswer` or another `OSError`.
        """
        place, target, host = _parsed(route + path)
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if not lines.count("\r") == lines.count("\n") == len(headers) or "\0" in lines:
            raise BadAnswer("the value of a header cannot be sent")
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{self._headers}{lines}{length}\r\n"
        sent = head.encode("latin-1", "replace")
        rest = b""
        if body and len(body) < LARGE:
            sent += body
        elif body:
            rest = body  # sent by itself, since adding it would copy it
        async with self._free:
            while (connection := self._waiting(route)) is not None:
                try:
                    return await self._over(connection, sent, rest, route)
                except ConnectionError:
                    if connection.answering or method not in REPEATABLE:
                        raise
            return await self._over(await self._connect(place, route), sent, rest, route)

    async def close(self) -> None:
        """Close the idle connections."""
        for timer in (self._sweep, self._watch):
            if timer is not None:
                timer.cancel()
        for idle in self._idle.values():
            while idle:
                idle.pop().abort()

    async def _over(self, connection: _PooledConnection, sent: bytes, rest: bytes, route: str) -> Response:
        self._busy[connection] = connection.loop.time() + self._timeout
        if self._watch is None:
            self._watch = connection.loop.call_later(self._timeout, self._look, connection.loop)
        try:
            response = await connection.ask(sent, rest)
        except BaseException:
            connection.abort()
            raise
        finally:
            del self._busy[connection]
        now = connection.loop.time()
        if connection.reusable and self._distrusted.get(route, 0.0) <= now:
            connection.since = now
            self._idle.setdefault(route, deque()).append(connection)
            if self._sweep is None:
                self._sweep = connection.loop.call_later(IDLE, self._let_go)
        else:
            connection.abort()
        return response

    def _waiting(self, route: str) -> _PooledConnection | None:
        idle = self._idle.get(route)
        while idle:
            connection = idle.pop()  # the last one used, so that superfluous ones grow old
            if not connection.reusable or connection.loop.time() - connection.since >= IDLE:
                connection.abort()
            elif connection.unread:  # the loop is about to read its end, or data that nobody asked for
                connection.loop.call_later(IDLE, connection.abort)
            else:
                return connection
        return None

    def _distrust(self, route: str) -> None:
        """Use no connection of this route twice for a while: its server sent data that nobody asked for."""
        log.warning("a provider sent an answer that nobody asked for", route=route)
        self._distrusted[route] = asyncio.get_running_loop().time() + DISTRUST
        for connection in self._idle.pop(route, ()):
            connection.abort()

    async def _connect(self, place: _Place, route: str) -> _PooledConnection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT):
            _, connection = await loop.create_connection(
                lambda: _PooledConnection(self._largest, lambda: self._distrust(route)),
                place.host,
                place.port,
                ssl=place.encrypted or None,
            )
        return connection

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End connections that wait too long. One timer serves all: an answer comes long before, and should
        not set and cancel a timer of its own."""
        self._watch = None
        for connection, until in list(self._busy.items()):
            if (left := until - loop.time()) > 0:
                self._watch = loop.call_later(left, self._look, loop)
                return
            connection.fail(TimeoutError(f"no answer within {self._timeout:g} s"))

    def _let_go(self) -> None:
        self._sweep = None
        for route, idle in list(self._idle.items()):
            while idle and (not idle[0].reusable or idle[0].loop.time() - idle[0].since >= IDLE):
                idle.popleft().abort()
            if not idle:
                del self._idle[route]
        if self._idle:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(IDLE, self._let_go)


class _PooledConnection(asyncio.Protocol):
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
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
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
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type
        self._unread.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
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
        self._transport, self._keep = None, False
        if self._status is not None and self._to_the_end:
            self._finish(self._response())
        elif self.answering:
            self.fail(BadAnswer("the connection was closed in the middle of the answer"))
        else:
            self.fail(error or ConnectionResetError("the server closed the connection"))

    def on_message_begin(self) -> None:
        self._begin()
        if self._whole is not None:  # a second answer behind the one that was asked for
            self._too_much()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._status is None:  # trailers come by the same call
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()

    def on_body(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._largest:
            self.fail(AnswerTooLarge(f"it has more than {self._largest} bytes"))
        else:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
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
        self._keep = False
        if self._result is not None and not self._result.done():
            self._result.set_exception(error)
        self.abort()


@lru_cache(maxsize=1024)
def _parsed(url: str) -> tuple[_Place, str, str]:
    """The address to connect to, the request's target, and the value of ``Host``."""
    parsed = URL(url)
    if parsed.host is None or parsed.port is None or parsed.scheme not in ("http", "https"):
        raise BadAnswer(f"{url!r} is no address of a server")
    host = parsed.raw_authority.rpartition("@")[2]
    return _Place(parsed.host, parsed.port, parsed.scheme == "https"), parsed.raw_path_qs, host
