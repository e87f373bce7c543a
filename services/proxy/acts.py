"""The operator's acts at the proxies, in Redis until the controller has read them."""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis

from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.wire.acts import Act

__all__ = ["SHOWN", "ActStore"]

MOST = 20_000
"""Acts that are kept; one more removes the oldest."""
_BOUND = frozenset({"key", "model", "endpoint", "policy"})
SHOWN = {
    "keys": frozenset(
        {"id", "name", "budget", "models", "endpoints", "limits", "counting", "policy", "revoked", "overlap"}
    ),
    "bindings": _BOUND,
    "shadows": _BOUND,
    "policies": frozenset({"chain"}),
    "routes": frozenset({"upstream", "probe"}),
    "limits": frozenset({"kind", "samples", "seconds", "units", "costs", "epsilon", "delta"}),
}
"""Fields of bodies that the log shows; never keys, or a target's file, which may hold one."""


class ActStore:
    """Acts by the time at which they ended."""

    def __init__(self, redis: Redis, configuration: Configuration) -> None:
        self._redis, self._name = redis, configuration.names.acts

    async def note(self, act: Act) -> None:
        """Store an act. Raises `Unavailable`."""
        with redis_errors():
            await self._redis.zadd(self._name, {act.model_dump_json(): act.at.timestamp()})
            await self._redis.zremrangebyrank(self._name, 0, -MOST - 1)

    async def since(self, time: float) -> list[Act]:
        """Acts that ended at that time (seconds since 1970) or later, oldest first. Raises `Unavailable`."""
        with redis_errors():
            stored: Any = await self._redis.zrangebyscore(self._name, time, "+inf")
        return [Act.model_validate_json(each) for each in stored]
