"""One connection to Redis that sends all calls one behind the other, without waiting for earlier answers.

redis-py lends a connection to each call, with a timeout around every step. On the data path that costs more
than Redis does: here a call is a few bytes written with those of other calls, and one wake-up.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from typing import Any, cast

import hiredis
from redis.asyncio.connection import SSLConnection, parse_url
from redis.exceptions import ConnectionError, NoScriptError, ResponseError, TimeoutError

__all__ = ["Pipe"]


class Pipe:
    """Calls to the server at ``url`` (``redis://``, ``rediss://``, ``unix://``); connects when first needed.

    After ``timeout`` seconds without an answer, or when the connection is lost, all waiting calls fail. No
    call is ever sent twice: it may have been carried out.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._options: dict[str, Any] = dict(parse_url(url))
        self._timeout = timeout
        self._line: _Line | None = None
        self._connecting = asyncio.Lock()

    async def call(self, *words: str | bytes | int | float) -> Any:
        """Redis' answer to a command.

        Raises `RedisError` or `OSError`: an error of Redis, or of the connection.
        """
        line = self._line
        if line is None or line.closed:
            line = await self._connected()
        return await line.call(words)

    async def close(self) -> None:
        """Close the connection."""
        if self._line is not None:
            self._line.close(ConnectionError("the proxy is stopping"))

    async def _connected(self) -> _Line:
        async with self._connecting:
            if self._line is None or self._line.closed:
                self._line = await self._connect()
            return self._line

    async def _connect(self) -> _Line:
        options, loop = self._options, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                if "path" in options:
                    _, line = await loop.create_unix_connection(self._make, options["path"])
                else:
                    place = options.get("host", "localhost"), int(options.get("port", 6379))
                    _, line = await loop.create_connection(self._make, *place, ssl=self._encryption())
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

    def _make(self) -> _Line:
        return _Line(self._timeout)

    def _encryption(self) -> ssl.SSLContext | None:
        if self._options.get("connection_class") is not SSLConnection:
            return None
        options = {name: value for name, value in self._options.items() if name.startswith("ssl_")}
        context: ssl.SSLContext = SSLConnection(**options).ssl_context.get()
        return context


class _Line(asyncio.Protocol):
    """One connection, and the calls that wait for their answers, in the order in which they were sent."""

    def __init__(self, timeout: float) -> None:
        self._loop, self._timeout = asyncio.get_running_loop(), timeout
        self._reader = hiredis.Reader(replyError=_error)
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._transport: asyncio.Transport | None = None
        self._watch: asyncio.TimerHandle | None = None

    @property
    def closed(self) -> bool:
        return self._transport is None

    def call(self, words: tuple[str | bytes | int | float, ...]) -> asyncio.Future[Any]:
        """A future of the answer."""
        answer = self._loop.create_future()
        if self._transport is not None:
            # uvloop gathers what is written in one turn; to do that here would take a turn more.
            self._transport.write(hiredis.pack_command(words))  # type: ignore[arg-type]  # any number of words
        self._waiting.append((answer, self._loop.time()))
        if self._watch is None:
            self._watch = self._loop.call_later(self._timeout, self._look)
        return answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type

    def data_received(self, data: bytes) -> None:
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


def _error(message: str) -> ResponseError:
    return NoScriptError(message) if message.startswith("NOSCRIPT") else ResponseError(message)
