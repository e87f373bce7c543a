"""Limits on a server's connections: how long one may wait for its client, and how many a client may hold.

A connection is *unfinished* while its request is incomplete: nothing, or only a part of header or body has
come. A connection that is being answered is never cut, however long the answer takes.
"""

from __future__ import annotations

import asyncio
import enum
import resource
from collections import OrderedDict
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from leakrange.service.cycle import Cycle
from leakrange.service.settings import ServiceSettings
from leakrange.wire.errors import HeaderTooLarge, LeakrangeError, MalformedBody, RequestTimeout, Unavailable
from leakrange.wire.problems import problem_response

__all__ = ["Connections"]

log = structlog.get_logger("leakrange.service.connections")
MAX_HEADER = 64 * 1024
"""Bytes of a header, or of what comes between two pieces of a body, such as trailers."""
CHUNKED = (b"chunked", "1.1")
"""The transfer coding and the version of HTTP that are read; bodies without a coding have a length."""


class _Phase(enum.Enum):
    HEADER = enum.auto()
    BODY = enum.auto()
    COMPLETE = enum.auto()
    """The whole request has come; it is being answered, or was."""


class _Client:
    """The open connections from one address, ordered by when the client last sent something."""

    def __init__(self) -> None:
        self.open: OrderedDict[_Connection, None] = OrderedDict()
        self.unfinished = 0

    def close_one(self, *, unfinished: bool) -> bool:
        """Close the connection that has waited longest for its client; returns whether there was one.

        With ``unfinished``, connections that merely wait for the next request are spared.
        """
        for connection in self.open:
            if connection.waits and (connection.unfinished or not unfinished):
                connection.refuse(Unavailable("too many connections wait for your requests to be complete"))
                return True
        return False


class Connections:
    """All connections of one server; `protocol` makes the protocol of each."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.header_timeout, self.body_timeout = settings.header_timeout, settings.body_timeout
        # Files are needed for more than connections from clients, and no client may have all of those.
        self._most = min(settings.max_connections, _files(2 * settings.max_connections) * 3 // 4)
        self._most_each = min(settings.client_connections, max(1, self._most // 2))
        self._most_unfinished = min(settings.client_unfinished, self._most_each)
        self._clients: dict[str | None, _Client] = {}
        self._count = 0
        self._check_every = min(1.0, self.header_timeout / 4, self.body_timeout / 4)
        self._check: asyncio.TimerHandle | None = None

    def protocol(self, **of_uvicorn: Any) -> HttpToolsProtocol:
        """The protocol of a new connection, from uvicorn's arguments for it."""
        return _Connection(self, **of_uvicorn)

    def admit(self, connection: _Connection, address: str | None) -> _Client | None:
        """Count a new connection; None if there is no room for it."""
        client = self._clients.setdefault(address, _Client())
        if client.unfinished >= self._most_unfinished:
            client.close_one(unfinished=True)
        full = len(client.open) >= self._most_each and not client.close_one(unfinished=False)
        if not full and self._count >= self._most:
            busiest = max(self._clients.values(), key=lambda each: len(each.open))
            full = not busiest.close_one(unfinished=False)
        if full:
            log.warning("connection refused", address=address, connections=self._count)
            return None
        self._clients[address] = client  # closing its last connection forgot it
        client.open[connection] = None
        self._count += 1
        if self._check is None:
            self._check = connection.loop.call_later(self._check_every, self._look, connection.loop)
        return client

    def forget(self, connection: _Connection, address: str | None, client: _Client) -> None:
        """Stop counting a closed connection; repeating it changes nothing."""
        if connection in client.open:
            del client.open[connection]
            self._count -= 1
            if not client.open and self._clients.get(address) is client:
                del self._clients[address]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that have waited too long for their client."""
        # One timer for all: requests are many, and none of them should set and cancel one.
        now = loop.time()
        for connection in [each for client in self._clients.values() for each in client.open]:
            connection.check(now)
        again = self._count > 0
        self._check = loop.call_later(self._check_every, self._look, loop) if again else None


def _files(wanted: int) -> int:
    """The number of files that this process may have open, after raising it to ``wanted`` as far as
    allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


class _Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits, and ignoring trailers."""

    def __init__(self, connections: Connections, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        self._connections = connections
        self._phase = _Phase.COMPLETE
        self._deadline = 0.0
        self._silent = True
        """Nothing of the awaited request has come yet."""
        self._besides = 0
        """Bytes that came since the last byte of a body."""
        self._unreadable = False
        """Whether its transfer coding is not understood."""
        self._from: _Client | None = None
        self._idle_until = 0.0
        """When it is closed for want of another request."""

    @property
    def unfinished(self) -> bool:
        """Whether an incomplete request is waited for."""
        return self._phase is not _Phase.COMPLETE

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn: no answer is in progress, and everything that came was read."""
        if self._phase is _Phase.BODY:
            return not self.flow.read_paused
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._from = self._connections.admit(self, self._address)
        self._await_request()
        if self._from is None:
            self._silent = False  # so that it is told why
            self.refuse(Unavailable("this server has too many connections from your address"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._from is not None:
            self._from.open.move_to_end(self)
        if self._phase is _Phase.COMPLETE and self.waits:
            self._await_request()
        self._silent = False
        self._besides += len(data)
        super().data_received(data)
        if self._besides > MAX_HEADER and self.unfinished and not self.transport.is_closing():
            self.refuse(HeaderTooLarge(f"a header may have {MAX_HEADER} bytes"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._phase is _Phase.COMPLETE:  # it came together with the end of another
            self._await_request()

    def on_header(self, name: bytes, value: bytes) -> None:
        # The parser tells the trailers behind a chunked body by the same call. As headers they would replace
        # those that came first: the key, the length, the name of the request.
        if self._phase is _Phase.HEADER:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            elif name == b"transfer-encoding" and (value.lower(), self.parser.get_http_version()) != CHUNKED:
                # The parser takes chunks out of any list of codings, and leaves the others in the body. What
                # stands before this server may see the end of such a request elsewhere.
                self._unreadable = True
                raise ValueError("its body is framed in a way that is not read")
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._besides = 0
        self._enter(_Phase.BODY)
        self._deadline = self.loop.time() + self._connections.body_timeout
        super().on_headers_complete()
        self.cycle.__class__ = Cycle  # uvicorn makes it by name; its task begins later

    def on_body(self, body: bytes) -> None:
        self._besides = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._besides = 0
        self._enter(_Phase.COMPLETE)
        if self.cycle.response_complete:  # it was answered before its end, and nothing else wakes us
            self._await_request()

    def on_response_complete(self) -> None:
        # As uvicorn's, without its timer, of which each request would set and cancel one.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._idle_until = self.loop.time() + self.timeout_keep_alive

    def send_400_response(self, msg: str) -> None:
        self._silent = False
        hint = "send HTTP/1.1"
        if self._unreadable:
            msg = "the body is sent in a way that is not read here"
            hint = "send it with a Content-Length, or by HTTP/1.1 with 'Transfer-Encoding: chunked' alone"
        self.refuse(MalformedBody(msg, hint=hint))

    def check(self, now: float) -> None:
        """Close it if its client has used up its time."""
        if not self.unfinished:
            if self._idle_until and now >= self._idle_until and self.waits:
                self.timeout_keep_alive_handler()
            return
        if now < self._deadline:
            return
        of_body = self._phase is _Phase.BODY
        within = self._connections.body_timeout if of_body else self._connections.header_timeout
        if not self.waits:  # what has come was not read yet, or the answer before is still under way
            self._deadline = now + within
            return
        part = "body" if of_body else "header"
        self.refuse(RequestTimeout(f"the {part} did not come to its end within {within:g} s"))

    def refuse(self, error: LeakrangeError) -> None:
        """Close it, and say why if an answer is still possible."""
        answerable = not self._silent
        if self._phase is _Phase.BODY:
            answerable = not self.cycle.response_started
            self.cycle.disconnected = True  # for the application, which may wait for the rest of the body
            self.cycle.message_event.set()
        if answerable and self.unfinished:
            answer = problem_response(error)
            headers = [*self.server_state.default_headers, *answer.raw_headers, (b"connection", b"close")]
            lines = [name + b": " + value + b"\r\n" for name, value in headers]
            self.transport.write(STATUS_LINE[error.status] + b"".join(lines) + b"\r\n" + bytes(answer.body))
        self._leave()
        self.transport.close()

    @property
    def _address(self) -> str | None:
        return self.client[0] if self.client else None

    def _await_request(self) -> None:
        self._silent, self._besides = True, 0
        self._enter(_Phase.HEADER)
        self._deadline = self.loop.time() + self._connections.header_timeout

    def _enter(self, phase: _Phase) -> None:
        before, self._phase = self.unfinished, phase
        if self._from is not None and self in self._from.open:
            self._from.unfinished += self.unfinished - before

    def _leave(self) -> None:
        if self._from is not None:
            self._enter(_Phase.COMPLETE)
            self._connections.forget(self, self._address, self._from)
            self._from = None
