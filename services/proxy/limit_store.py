"""Limits as the operator handles them, and what is counted under each."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from leakrange.wire.errors import Conflict, NotFound
from services.proxy.configuration import KEY, KEYS, LIMITS, VERSION, Configuration, queue, text
from services.proxy.limits import Limit, read_limit
from services.proxy.redis_client import PREFIX, redis_errors

STATE = PREFIX + "limit:"


class LimitStore:
    """Writes limits; every change is live with the next request of every proxy process."""

    def __init__(self, redis: Redis, configuration: Configuration) -> None:
        self._redis, self._configuration = redis, configuration

    async def put(self, name: str, limit: Limit) -> None:
        """Create or change a limit. What is counted under it stays, unless it becomes one of another kind."""
        spec = orjson.dumps(limit.spec())

        async def write(pipeline: Pipeline) -> None:
            there = await pipeline.hget(LIMITS, name)
            if there == spec:
                return
            counted = []
            if there is not None and orjson.loads(there)["kind"] != limit.kind:
                counted = await self._state(name, there)
            queue(pipeline)
            pipeline.hset(LIMITS, name, spec)
            if counted:
                pipeline.unlink(*counted)

        await self._configuration.change(write, LIMITS)

    async def delete(self, name: str) -> None:
        """Delete a limit and what is counted under it. Raises `NotFound`, or `Conflict` while a key names it:
        it would be unbounded."""

        async def write(pipeline: Pipeline) -> None:
            there = await pipeline.hget(LIMITS, name)
            if there is None:
                raise NotFound(f"there is no limit {name!r}")
            ids = sorted(text(id_) for id_ in await pipeline.smembers(KEYS))
            stored = [(id_, await pipeline.hget(KEY + id_, "limits")) for id_ in ids]
            if bound := [id_ for id_, names in stored if names and name in orjson.loads(names)]:
                raise Conflict(
                    f"keys are bound by the limit {name!r}",
                    hint="PATCH the limits of these keys first",
                    keys=bound[:100],
                )
            counted = await self._state(name, there)
            queue(pipeline)
            pipeline.hdel(LIMITS, name)
            pipeline.unlink(*counted)

        await self._configuration.change(write, LIMITS, VERSION)

    async def all(self) -> Mapping[str, Limit]:
        """Every limit by its name."""
        with redis_errors():
            stored = await self._redis.hgetall(LIMITS)
        return {text(name): read_limit(orjson.loads(spec)) for name, spec in sorted(stored.items())}

    async def used(self, name: str) -> Mapping[str, int]:
        """What is counted under a limit, by what it counts for."""
        with redis_errors():
            stored = await self._redis.hgetall(STATE + name)
        return {text(one): int(units) for one, units in sorted(stored.items())}

    async def _state(self, name: str, spec: bytes | str) -> list[str]:
        """The keys that hold what is counted under a limit."""
        counted = [text(field) for field in await self._redis.hkeys(STATE + name)]
        further = type(read_limit(orjson.loads(spec))).further(counted)
        return [STATE + name, *(f"{STATE}{name}:{part}" for part in further)]
