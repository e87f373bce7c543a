"""A lean HTTP/1.1 client: one request and its whole answer over a pooled connection, in one wake-up.

For requests to providers, of which there are thousands a second: aiohttp takes four times as long for one.
Files, which are passed on piece by piece, go over aiohttp all the same.

HTTP/1.1 does not say to which request an answer belongs: it is that to the next one. A server that sends two
answers to one request could so have the second taken for the answer to somebody else's. Connections are
therefore shared by the requests of one route alone, and what came unasked ends the connection before anything
is sent over it. What comes after that, while the next request is on its way, cannot be told from a
fast answer. So a route whose server has once sent too much gets a new connection for each request.
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

from leakrange.wire.turns import LARGE
from services.proxy.interim import MOST_INTERIM

__all__ = ["AnswerTooLarge", "BadAnswer", "Client", "Response"]

log = structlog.get_logger("leakrange.proxy.http1")

MAX_HEADER = 65_536
"""Bytes of an answer's header."""
IDLE = 4.0
"""Seconds for which a connection waits for another request. uvicorn closes it after 5: let go before, so that
no request meets a closing one."""
CONNECT = 5.0
DISTRUST = 600.0
"""Seconds for which no connection of a route is used again after its server sent what nobody asked for."""
REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
"""May be sent again where the server closed a connection that had waited."""


class BadAnswer(OSError):
    """What came is no HTTP answer, or not all of one."""


class AnswerTooLarge(OSError):
    """The answer has more bytes than are wanted."""


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
        self._idle: dict[str, deque[_Connection]] = {}
        """By route, as what follows."""
        self._distrusted: dict[str, float] = {}
        """Until when."""
        self._sweep: asyncio.TimerHandle | None = None
        self._busy: dict[_Connection, float] = {}
        """The connections that wait for an answer, and until when: the first of them is the first to end."""
        self._watch: asyncio.TimerHandle | None = None

    async def ask(
        self, method: str, route: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        """The answer, whatever its status. ``route`` is the beginning of a URL, ``path`` the rest of it:
        requests of one route share connections.

        Raises `TimeoutError`, `AnswerTooLarge`, `BadAnswer` or another `OSError`.
        """
        place, target, host = _parsed(route + path)
        told = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if not told.count("\r") == told.count("\n") == len(headers) or "\0" in told:
            raise BadAnswer("the value of a header cannot be sent")
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{self._headers}{told}{length}\r\n"
        sent = head.encode("latin-1", "replace")
        rest = b""
        if body and len(body) < LARGE:
            sent += body
        elif body:
            rest = body  # by itself: it would be copied
        async with self._free:
            while (connection := self._waiting(route)) is not None:
                try:
                    return await self._over(connection, sent, rest, route)
                except ConnectionError:
                    if connection.answering or method not in REPEATABLE:
                        raise
            return await self._over(await self._connect(place, route), sent, rest, route)

    async def close(self) -> None:
        """Close what waits."""
        for timer in (self._sweep, self._watch):
            if timer is not None:
                timer.cancel()
        for idle in self._idle.values():
            while idle:
                idle.pop().abort()

    async def _over(self, connection: _Connection, sent: bytes, rest: bytes, route: str) -> Response:
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

    def _waiting(self, route: str) -> _Connection | None:
        idle = self._idle.get(route)
        while idle:
            connection = idle.pop()  # the one that was used last: what is too many grows old
            if not connection.reusable or connection.loop.time() - connection.since >= IDLE:
                connection.abort()
            elif connection.unread:  # its end, or what nobody asked for: the loop is about to read it
                connection.loop.call_later(IDLE, connection.abort)
            else:
                return connection
        return None

    def _distrust(self, route: str) -> None:
        """Use no connection of this route twice for a while: its server sent what nobody asked for."""
        log.warning("a provider sent an answer that nobody asked for", route=route)
        self._distrusted[route] = asyncio.get_running_loop().time() + DISTRUST
        for connection in self._idle.pop(route, ()):
            connection.abort()

    async def _connect(self, place: _Place, route: str) -> _Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT):
            _, made = await loop.create_connection(
                lambda: _Connection(self._largest, lambda: self._distrust(route)),
                place.host,
                place.port,
                ssl=place.encrypted or None,
            )
        return made

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what waits too long. One timer for all: an answer comes long before, and none should set and
        cancel its own."""
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


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    since = 0.0
    """When its last answer ended."""

    def __init__(self, largest: int, surplus: Callable[[], None]) -> None:
        """``surplus`` is called where more comes than was asked for."""
        self.loop = asyncio.get_running_loop()
        self._largest, self._surplus = largest, surplus
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._result: asyncio.Future[Response] | None = None
        self._whole: Response | None = None
        """The answer, until all has been read that came with it."""
        self._used = False
        """Whether an answer was taken from it before."""
        self._unread = select.poll()
        self._doubtful = False
        """Whether more came than was asked for."""
        self._keep, self._interim = True, 0
        self.answering = False
        """Whether something of the answer has come."""
        self._status: int | None = None
        self._begin()

    @property
    def reusable(self) -> bool:
        """Whether another request may follow: not where the server answered before it had all of the last."""
        transport = self._transport
        return (
            self._keep
            and transport is not None
            and not transport.is_closing()
            and transport.get_write_buffer_size() == 0
        )

    @property
    def unread(self) -> bool:
        """Whether something has come that the loop has not read yet."""
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
            if self._whole is None:  # else it is behind the answer
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
    """Where to connect, the request's target, and the value of ``Host``."""
    parsed = URL(url)
    if parsed.host is None or parsed.port is None or parsed.scheme not in ("http", "https"):
        raise BadAnswer(f"{url!r} is no address of a server")
    host = parsed.raw_authority.rpartition("@")[2]
    return _Place(parsed.host, parsed.port, parsed.scheme == "https"), parsed.raw_path_qs, host
