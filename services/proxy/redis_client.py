"""The connection to Redis, and its failures as 503."""

from __future__ import annotations

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from leakrange.wire.errors import Unavailable

PREFIX = "leakrange:proxy:"
log = structlog.get_logger("leakrange.proxy.redis")


def connect(url: str, timeout: float) -> Redis:
    """A pooled client that never repeats a command by itself.

    A reservation or settlement whose reply was lost may have been made: asking again would count it twice. A
    connection that Redis has closed meanwhile is made anew before anything is sent on it.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=64,
        timeout=timeout,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
        protocol=2,  # with 3, redis-py's pool lends connections that are closed already
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
                "the ledger cannot be reached", hint="try again shortly", retry_after=1.0
            ) from error
