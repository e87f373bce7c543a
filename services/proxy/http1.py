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
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import structlog
from yarl import URL

from leakrange.services.proxy.addresses import Addresses, ServerAddress
from leakrange.services.proxy.connection import (
    AnswerTooLarge,
    BadAnswer,
    NotSent,
    PooledConnection,
    Response,
)
from leakrange.wire.turns import LARGE

__all__ = ["AnswerTooLarge", "BadAnswer", "Client", "NotSent", "Response"]

log = structlog.get_logger("leakrange.proxy.http1")

IDLE = 4.0
"""Seconds for which a connection waits for another request. uvicorn closes it after 5: it is closed earlier
here, so that no request meets a closing one."""
CONNECT = 5.0
DISTRUST = 600.0
"""Seconds for which no connection of a route is used again after its server sent data that nobody asked
for."""
ATTEMPTS = 5
"""Most connections over which one request is tried."""


class _Place(NamedTuple):
    host: str
    port: int
    encrypted: bool


class Client:
    """Connections to any number of servers, ``most`` of them in use at a time.

    timeout: seconds for a whole answer, from whichever server. largest: bytes of its body.
    """

    def __init__(self, *, timeout: float, largest: int, most: int, headers: Mapping[str, str]) -> None:
        self._timeout, self._largest = timeout, largest
        self._free = asyncio.Semaphore(most)
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._addresses = Addresses()
        self._idle: dict[tuple[str, ServerAddress], deque[PooledConnection]] = {}
        """Idle connections by route and address."""
        self._distrusted: dict[str, float] = {}
        """End of the distrust, by route."""
        self._sweep: asyncio.TimerHandle | None = None
        self._busy: dict[PooledConnection, float] = {}
        """The connections that wait for an answer, with their deadlines."""
        self._watch: asyncio.TimerHandle | None = None

    async def ask(
        self,
        method: str,
        route: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        repeatable: bool,
    ) -> Response:
        """The answer, whatever its status. ``route`` is the beginning of a URL, ``path`` the rest of it:
        requests of one route share connections.

        Where its host's name stands for several servers, another is asked only if the first did not get the
        request, or, for a ``repeatable`` one, if it ended the connection before an answer had begun. Raises
        `TimeoutError`, `AnswerTooLarge`, `BadAnswer` or another `OSError`.
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
            return await self._try(place, route, sent, rest, repeatable)

    async def _try(self, place: _Place, route: str, sent: bytes, rest: bytes, repeatable: bool) -> Response:
        until = asyncio.get_running_loop().time() + self._timeout
        failed: list[ServerAddress] = []
        last: OSError | None = None
        repeated = False
        for _ in range(ATTEMPTS):
            address = self._addresses.best(place.host, place.port, failed)
            if address is None:
                address = await self._addresses.find(place.host, place.port, failed)
                if address is None:
                    break
            connection = self._waiting(route, address)
            waited = connection is not None
            address.busy += 1
            try:
                connection = connection or await self._connect(place, route, address)
                response = await self._over(connection, sent, rest, route, address, until)
            except OSError as error:
                last = error
                for other in self._idle.pop((route, address), ()):
                    other.abort()
                closed = isinstance(error, ConnectionError)
                if not (waited and closed):  # a connection that had waited says nothing of the server
                    self._addresses.leave_alone(address)
                    failed.append(address)
                if not isinstance(error, NotSent):
                    unanswered = closed and connection is not None and not connection.answering
                    if not (repeatable and unanswered) or repeated:
                        raise
                    repeated = True  # once: a request that ends a server must not end many
            else:
                if response.status == 503:  # full, or cut off from what it needs
                    self._addresses.leave_alone(address)
                return response
            finally:
                address.busy -= 1
        assert last is not None
        raise last

    async def close(self) -> None:
        """Close the idle connections."""
        for timer in (self._sweep, self._watch):
            if timer is not None:
                timer.cancel()
        for idle in self._idle.values():
            while idle:
                idle.pop().abort()

    async def _over(
        self,
        connection: PooledConnection,
        sent: bytes,
        rest: bytes,
        route: str,
        address: ServerAddress,
        until: float,
    ) -> Response:
        self._busy[connection] = until
        if self._watch is None:
            self._watch = connection.loop.call_at(until, self._look, connection.loop)
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
            self._idle.setdefault((route, address), deque()).append(connection)
            if self._sweep is None:
                self._sweep = connection.loop.call_later(IDLE, self._let_go)
        else:
            connection.abort()
        return response

    def _waiting(self, route: str, address: ServerAddress) -> PooledConnection | None:
        idle = self._idle.get((route, address))
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
        for key in [key for key in self._idle if key[0] == route]:
            for connection in self._idle.pop(key):
                connection.abort()

    async def _connect(self, place: _Place, route: str, address: ServerAddress) -> PooledConnection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT):
                _, connection = await loop.create_connection(
                    lambda: PooledConnection(self._largest, lambda: self._distrust(route)),
                    address.host,
                    place.port,
                    ssl=place.encrypted or None,
                    server_hostname=place.host if place.encrypted else None,
                )
        except OSError as error:  # a timeout among them
            raise NotSent(f"{address.host} cannot be reached: {error or 'no answer'}") from error
        return connection

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End connections that wait too long. One timer serves all: an answer comes long before, and should
        not set and cancel a timer of its own."""
        self._watch = None
        now = loop.time()  # read once: a deadline between two readings would be neither over nor watched
        for connection, until in list(self._busy.items()):
            if until <= now:
                connection.fail(TimeoutError(f"no answer within {self._timeout:g} s"))
        if later := [until for until in self._busy.values() if until > now]:
            self._watch = loop.call_at(min(later), self._look, loop)

    def _let_go(self) -> None:
        self._sweep = None
        for key, idle in list(self._idle.items()):
            while idle and (not idle[0].reusable or idle[0].loop.time() - idle[0].since >= IDLE):
                idle.popleft().abort()
            if not idle:
                del self._idle[key]
        if self._idle:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(IDLE, self._let_go)


@lru_cache(maxsize=1024)
def _parsed(url: str) -> tuple[_Place, str, str]:
    """The address to connect to, the request's target, and the value of ``Host``."""
    parsed = URL(url)
    if parsed.host is None or parsed.port is None or parsed.scheme not in ("http", "https"):
        raise BadAnswer(f"{url!r} is no address of a server")
    host = parsed.raw_authority.rpartition("@")[2]
    return _Place(parsed.host, parsed.port, parsed.scheme == "https"), parsed.raw_path_qs, host
