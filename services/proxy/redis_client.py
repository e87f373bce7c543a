"""redis-py's client for the configuration, and failures of Redis as 503."""

from __future__ import annotations

from typing import Any

import structlog
from redis.asyncio import BlockingConnectionPool, Connection, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, MovedError, ReadOnlyError, RedisError

from leakrange.services.proxy.line import Address, LedgerError
from leakrange.services.proxy.pipe import Pipe
from leakrange.wire.errors import Unavailable

__all__ = ["connect", "redis_errors"]

log = structlog.get_logger("leakrange.proxy.redis")


class _Following(Connection):
    """A connection to whoever is the master now of what the configuration lies in."""

    def __init__(self, *, pipe: Pipe, **options: Any) -> None:
        super().__init__(**options)
        self._servers, self._slot = pipe.servers, pipe.servers.slot(("GET", pipe.names.version))

    async def _connect(self) -> None:
        self.host, self.port = await self._servers.master(self._slot, self.socket_connect_timeout or 2.0)
        try:
            await super()._connect()  # type: ignore[no-untyped-call]
        except OSError:
            self._doubt()
            raise

    async def read_response(self, *arguments: Any, **options: Any) -> Any:
        """What the server answered; the connection ends where it is the master no longer."""
        try:
            return await super().read_response(*arguments, **options)
        except (MovedError, ReadOnlyError) as error:
            self._doubt()
            await self.disconnect()
            raise ConnectionError("the server is not the master any more") from error

    def _doubt(self) -> None:
        self._servers.doubt(Address(self.host, int(self.port)))


class _FollowingEncrypted(_Following, SSLConnection):
    pass


def connect(pipe: Pipe, timeout: float) -> Redis:
    """A pooled client of the server that has the configuration. It never repeats a command by itself.

    A reservation or settlement whose reply was lost may have been made: asking again would count it twice. A
    connection that Redis has closed meanwhile is made anew before anything is sent on it.
    """
    options = dict(pipe.servers.options)
    if not pipe.servers.fixed:
        encrypted = options.get("connection_class") is SSLConnection
        options |= {"pipe": pipe, "connection_class": _FollowingEncrypted if encrypted else _Following}
    pool = BlockingConnectionPool(
        max_connections=64,
        timeout=timeout,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
        protocol=2,  # with 3, redis-py's pool lends connections that are closed already
        **options,
    )
    return Redis.from_pool(pool)


class redis_errors:  # a generator would cost as much as the call it is around
    """Turn any failure of Redis into `Unavailable`; the next request tries again."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        if isinstance(error, RedisError | OSError):
            log.warning("redis failed", error=type(error).__name__, detail=str(error)[:200])
            raise Unavailable(
                str(error) if isinstance(error, LedgerError) else "the ledger cannot be reached",
                hint="try again shortly",
                retry_after=1.0,
            ) from error
