"""Limits as the operator handles them, with the counts under each."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from leakrange.services.proxy.configuration import Configuration, queue, text
from leakrange.services.proxy.limits import Limit, read_limit
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.wire.errors import Conflict, NotFound


class LimitStore:
    """Writes limits; every change is live with the next request of every proxy process."""

    def __init__(self, redis: Redis, configuration: Configuration) -> None:
        self._redis, self._configuration = redis, configuration
        self._names, self._pipe = configuration.names, configuration.pipe

    async def put(self, name: str, limit: Limit) -> None:
        """Create or change a limit. The counts under it stay, unless its kind changes."""
        spec, names = orjson.dumps(limit.spec()), self._names

        async def write(pipeline: Pipeline) -> list[str]:
            stored = await pipeline.hget(names.limits, name)
            state: list[str] = []
            if stored == spec:
                return state
            if stored is not None and orjson.loads(stored)["kind"] != limit.kind:
                state = await self._state(name, stored)
            queue(pipeline)
            pipeline.hset(names.limits, name, spec)
            return self._forget(pipeline, state)

        await self._unlink(await self._configuration.change(write, names.limits))

    async def delete(self, name: str) -> None:
        """Delete a limit and the counts under it. Raises `NotFound`, or `Conflict` while a key names it,
        since that key would be unbounded."""
        names = self._names

        async def write(pipeline: Pipeline) -> list[str]:
            spec = await pipeline.hget(names.limits, name)
            if spec is None:
                raise NotFound(f"there is no limit {name!r}")
            ids = sorted(text(id_) for id_ in await pipeline.smembers(names.keys))
            stored = [(id_, await pipeline.hget(names.record(id_), "limits")) for id_ in ids]
            if bound := [id_ for id_, limits in stored if limits and name in orjson.loads(limits)]:
                raise Conflict(
                    f"keys are bound by the limit {name!r}",
                    hint="PATCH the limits of these keys first",
                    keys=bound[:100],
                )
            state = await self._state(name, spec)
            queue(pipeline)
            pipeline.hdel(names.limits, name)
            return self._forget(pipeline, state)

        await self._unlink(await self._configuration.change(write, names.limits, names.version))

    async def all(self) -> Mapping[str, Limit]:
        """Every limit by its name."""
        with redis_errors():
            stored = await self._redis.hgetall(self._names.limits)
        return {text(name): read_limit(orjson.loads(spec)) for name, spec in sorted(stored.items())}

    async def used(self, name: str) -> Mapping[str, int]:
        """The counts under a limit, by the account that each is for."""
        with redis_errors():
            flat = await self._pipe.call("HGETALL", *self._names.limit(name))
        counts = zip(flat[::2], flat[1::2], strict=True)
        return {text(account): int(units) for account, units in sorted(counts)}

    async def _state(self, name: str, spec: bytes | str) -> list[str]:
        """The Redis keys that hold the counts under a limit."""
        counted = [text(field) for field in await self._pipe.call("HKEYS", *self._names.limit(name))]
        return self._names.limit(name, type(read_limit(orjson.loads(spec))).further(counted))

    def _forget(self, pipeline: Pipeline, state: list[str]) -> list[str]:
        """Delete counts in the transaction, where they lie on the same server; else return them."""
        if state and not self._names.clustered:
            pipeline.unlink(*state)
        return state if self._names.clustered else []

    async def _unlink(self, state: list[str]) -> None:
        """Delete counts that lie elsewhere. Where that fails they stay, so a limit of the same name would
        allow less, never more."""
        if state:
            with redis_errors():
                await self._pipe.call("UNLINK", *state)
