"""Limits as the operator handles them, with the counts under each."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from leakrange.services.proxy.configuration import KEY, KEYS, LIMITS, VERSION, Configuration, queue, text
from leakrange.services.proxy.limits import Limit, read_limit
from leakrange.services.proxy.redis_client import PREFIX, redis_errors
from leakrange.wire.errors import Conflict, NotFound

STATE = PREFIX + "limit:"


class LimitStore:
    """Writes limits; every change is live with the next request of every proxy process."""

    def __init__(self, redis: Redis, configuration: Configuration) -> None:
        self._redis, self._configuration = redis, configuration

    async def put(self, name: str, limit: Limit) -> None:
        """Create or change a limit. The counts under it stay, unless its kind changes."""
        spec = orjson.dumps(limit.spec())

        async def write(pipeline: Pipeline) -> None:
            stored = await pipeline.hget(LIMITS, name)
            if stored == spec:
                return
            state = []
            if stored is not None and orjson.loads(stored)["kind"] != limit.kind:
                state = await self._state(name, stored)
            queue(pipeline)
            pipeline.hset(LIMITS, name, spec)
            if state:
                pipeline.unlink(*state)

        await self._configuration.change(write, LIMITS)

    async def delete(self, name: str) -> None:
        """Delete a limit and the counts under it. Raises `NotFound`, or `Conflict` while a key names it,
        since that key would be unbounded."""

        async def write(pipeline: Pipeline) -> None:
            spec = await pipeline.hget(LIMITS, name)
            if spec is None:
                raise NotFound(f"there is no limit {name!r}")
            ids = sorted(text(id_) for id_ in await pipeline.smembers(KEYS))
            stored = [(id_, await pipeline.hget(KEY + id_, "limits")) for id_ in ids]
            if bound := [id_ for id_, names in stored if names and name in orjson.loads(names)]:
                raise Conflict(
                    f"keys are bound by the limit {name!r}",
                    hint="PATCH the limits of these keys first",
                    keys=bound[:100],
                )
            state = await self._state(name, spec)
            queue(pipeline)
            pipeline.hdel(LIMITS, name)
            pipeline.unlink(*state)

        await self._configuration.change(write, LIMITS, VERSION)

    async def all(self) -> Mapping[str, Limit]:
        """Every limit by its name."""
        with redis_errors():
            stored = await self._redis.hgetall(LIMITS)
        return {text(name): read_limit(orjson.loads(spec)) for name, spec in sorted(stored.items())}

    async def used(self, name: str) -> Mapping[str, int]:
        """The counts under a limit, by the account that each is for."""
        with redis_errors():
            stored = await self._redis.hgetall(STATE + name)
        return {text(account): int(units) for account, units in sorted(stored.items())}

    async def _state(self, name: str, spec: bytes | str) -> list[str]:
        """The Redis keys that hold the counts under a limit."""
        counted = [text(field) for field in await self._redis.hkeys(STATE + name)]
        further = type(read_limit(orjson.loads(spec))).further(counted)
        return [STATE + name, *(f"{STATE}{name}:{part}" for part in further)]
