"""One connection to a Redis server that sends all calls one behind the other, without waiting for earlier
answers.

redis-py lends a connection to each call, with a timeout around every step. On the data path that costs more
than Redis does: here a call is a few bytes written with those of other calls, and one wake-up.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import hiredis
from redis.asyncio.connection import SSLConnection
from redis.exceptions import (
    AskError,
    ConnectionError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,
    TryAgainError,
)

__all__ = ["Address", "LedgerError", "Line", "NotConfirmed", "Words", "open_line"]

Words = tuple[str | bytes | int | float, ...]
"""A command with its arguments."""


class Address(NamedTuple):
    """Where a server listens; a port of 0: on the Unix socket of that path."""

    host: str
    port: int


class LedgerError(RedisError):
    """Redis answered, and the ledger cannot go by it; the words are for whoever asked."""


class NotConfirmed(LedgerError):
    """The master carried a command out, and too few of its replicas said in time that they have it."""


async def open_line(address: Address, options: Mapping[str, Any], within: float) -> Line:
    """A connection that is ready. ``options`` are redis-py's of a connection: user, password, ``db``, TLS.

    After ``within`` seconds without an answer, or when the connection is lost, all waiting calls fail. No
    call is ever sent twice: it may have been carried out. Raises `RedisError`.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within):
            if address.port:
                encryption = _encryption(options)
                _, line = await loop.create_connection(lambda: Line(within), *address, ssl=encryption)
            else:
                _, line = await loop.create_unix_connection(lambda: Line(within), address.host)
    except OSError as error:  # a timeout among them
        raise ConnectionError(f"Redis cannot be reached: {error}") from error
    try:
        if (password := options.get("password")) is not None:
            await line.call(("AUTH", *filter(None, (options.get("username"),)), password))
        if base := int(options.get("db") or 0):
            await line.call(("SELECT", base))
    except BaseException:
        line.close(ConnectionError("the connection was not set up"))
        raise
    return line


def _encryption(options: Mapping[str, Any]) -> ssl.SSLContext | None:
    if options.get("connection_class") is not SSLConnection:
        return None
    chosen = {name: value for name, value in options.items() if name.startswith("ssl_")}
    context: ssl.SSLContext = SSLConnection(**chosen).ssl_context.get()
    return context


class Line(asyncio.Protocol):
    """One connection, and the calls that wait for their answers, in the order in which they were sent."""

    def __init__(self, timeout: float) -> None:
        self._loop, self._timeout = asyncio.get_running_loop(), timeout
        self._reader = hiredis.Reader(replyError=_error)
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._transport: asyncio.Transport | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._confirming: asyncio.Future[None] | None = None
        self._next: asyncio.Future[None] | None = None

    @property
    def closed(self) -> bool:
        """Whether no call can be answered any more."""
        return self._transport is None

    def call(self, words: Words) -> asyncio.Future[Any]:
        """A future of the answer."""
        answer = self._loop.create_future()
        if self._transport is not None:
            # uvloop gathers what is written in one turn; to do that here would take a turn more.
            self._transport.write(hiredis.pack_command(words))  # type: ignore[arg-type]  # any number of words
        self._waiting.append((answer, self._loop.time()))
        if self._watch is None:
            self._watch = self._loop.call_later(self._timeout, self._look)
        return answer

    def confirmed(self, replicas: int) -> asyncio.Future[None]:
        """Done once so many replicas have all that was sent before; else it raises `NotConfirmed`, after a
        quarter of the timeout. One question serves all that come while another one waits, since a
        connection does nothing else meanwhile."""
        if self._next is None:
            self._next = self._loop.create_future()
            if self._confirming is None:
                self._loop.call_soon(self._confirm, replicas)
        return asyncio.shield(self._next)  # others wait for it too

    def _confirm(self, replicas: int) -> None:
        asked, self._confirming, self._next = self._next, self._next, None
        assert asked is not None

        def answered(reply: asyncio.Future[Any]) -> None:
            self._confirming = None
            if (error := reply.exception()) is not None:
                asked.set_exception(error)
            elif reply.result() < replicas:
                few = f"{reply.result()} of {replicas} replicas of the ledger have what was charged"
                asked.set_exception(NotConfirmed(few))
            else:
                asked.set_result(None)
            if self._next is not None:
                self._confirm(replicas)

        self.call(("WAIT", replicas, round(self._timeout * 250))).add_done_callback(answered)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not False:
                answer, _ = self._waiting.popleft()
                if answer.done():  # its caller was cancelled
                    continue
                if isinstance(reply, ResponseError):
                    answer.set_exception(reply)
                else:
                    answer.set_result(reply)
        except (hiredis.ProtocolError, IndexError) as error:
            self.close(ConnectionError(f"this does not speak as Redis: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self.close(ConnectionError(f"Redis closed the connection: {error or 'end of stream'}"))

    def close(self, error: Exception) -> None:
        """Close the connection; waiting calls fail with ``error``."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        while self._waiting:
            answer, _ = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(error)

    def _look(self) -> None:
        """Close the line if its oldest call waits too long. One timer serves all calls: a call is over long
        before, and should not set and cancel a timer of its own."""
        self._watch = None
        if not self._waiting:
            return
        left = self._waiting[0][1] + self._timeout - self._loop.time()
        if left <= 0:
            self.close(TimeoutError(f"Redis did not answer within {self._timeout:g} s"))
        else:
            self._watch = self._loop.call_later(left, self._look)


_ERRORS: Mapping[str, type[ResponseError]] = {
    "NOSCRIPT": NoScriptError,
    "MOVED": MovedError,
    "ASK": AskError,
    "TRYAGAIN": TryAgainError,
    "READONLY": ReadOnlyError,
}


def _error(message: str) -> ResponseError:
    kind, _, rest = message.partition(" ")
    if kind in ("MOVED", "ASK"):
        return _ERRORS[kind](rest)
    return _ERRORS.get(kind, ResponseError)(message)
