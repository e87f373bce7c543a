"""The live configuration: stored in Redis and cached here by its version, which every reservation checks."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TypeVar

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import WatchError

from leakrange.defences.output import Chain
from leakrange.services.proxy.limits import read_limit
from leakrange.services.proxy.pipe import Pipe
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.services.proxy.snapshot import Base, Binding, KeyRecord, Snapshot
from leakrange.targets.target import RemoteTarget
from leakrange.wire.errors import Unauthenticated

T = TypeVar("T")
MOST_KEYS = 10_000
"""Most keys whose records are cached; beyond, the cache starts anew."""


class Configuration:
    """Reader of the admin API's writes, whichever proxy process they went through."""

    def __init__(self, redis: Redis, pipe: Pipe) -> None:
        self._redis, self.pipe, self.names = redis, pipe, pipe.names
        self._keys: dict[str, KeyRecord] = {}
        self._lock = asyncio.Lock()
        self.snapshot = Snapshot()

    async def refresh(self) -> Snapshot:
        """The current configuration, read anew only if its version has changed."""
        with redis_errors():
            version = _version(await self.pipe.call("GET", self.names.version))
            if version != self.snapshot.version:
                async with self._lock:  # one reads, and the others wait for its result
                    if version != self.snapshot.version:
                        await self._read()
        return self.snapshot

    async def _read(self) -> None:
        async with self._redis.pipeline(transaction=True) as pipeline:
            names = self.names
            pipeline.get(names.version)
            for stored in (names.policies, names.bindings, names.routes, names.limits, names.shadows):
                pipeline.hgetall(stored)
            version, policies, bindings, routes, limits, shadows = await pipeline.execute()
        self.snapshot = Snapshot(
            version=_version(version),
            policies={name.decode(): Chain.parse(orjson.loads(spec)) for name, spec in policies.items()},
            bindings={read_binding(binding): name.decode() for binding, name in bindings.items()},
            shadows={read_binding(binding): name.decode() for binding, name in shadows.items()},
            routes={model.decode(): read_base(stored) for model, stored in routes.items()},
            limits={name.decode(): read_limit(orjson.loads(spec)) for name, spec in limits.items()},
        )
        self._keys.clear()

    async def key(self, fingerprint: str) -> KeyRecord:
        """The permissions of the key with that hash. Raises `Unauthenticated` for an unknown or revoked one.

        A cached record may be outdated. The reservation notices that, and so does a `refresh` followed by
        another call.
        """
        if (cached := self._keys.get(fingerprint)) is not None:
            return cached
        snapshot = self.snapshot
        with redis_errors():
            stored_id = await self.pipe.call("GET", self.names.auth(fingerprint))
            ends = await self.pipe.call("PTTL", self.names.auth(fingerprint)) != -1
            if stored_id is None:
                raise Unauthenticated("unknown API key")
            id_ = text(stored_id)
            fields = "models", "endpoints", "limits", "counting"
            stored = await self.pipe.call("HMGET", self.names.record(id_), *fields)
        models, endpoints = _names(stored[0]), _names(stored[1])
        limits = tuple(orjson.loads(stored[2])) if stored[2] else ()
        record = KeyRecord(id_, models, endpoints, limits, leased=stored[3] == b"leased")
        # Another configuration, read meanwhile, may be newer. A key that was replaced ends without one.
        if self.snapshot is snapshot and not ends:
            if len(self._keys) >= MOST_KEYS:
                self._keys.clear()
            self._keys[fingerprint] = record
        return record

    async def change(self, write: Callable[[Pipeline], Awaitable[T]], *watched: str) -> T:
        """Run ``write(pipeline)`` and a new version as one transaction, and return the result of ``write``.

        ``write`` may read, then calls `queue` and queues its changes. It runs again if one of the ``watched``
        keys changes meanwhile. Where it queues nothing, nothing has changed, and the version stays.
        """
        with redis_errors():
            async with self._redis.pipeline(transaction=True) as pipeline:
                while True:
                    await pipeline.watch(*watched)
                    result = await write(pipeline)
                    try:
                        if pipeline.command_stack:
                            pipeline.set(self.names.version, secrets.token_hex(8))
                            await pipeline.execute()
                        break
                    except WatchError:
                        continue
            if self.pipe.replicas:  # who has this has all that was changed before it
                await self.pipe.call("SET", self.names.changed, 1, confirm=True)
        return result

    async def renew(self) -> None:
        """Give the configuration a new version, so that whoever has read it reads it again.

        It is a token, not a count: were Redis to lose its data, a count would come to the same number again,
        and a cache of what was lost would pass for the present.
        """
        version = self.names.version
        await self.pipe.call("SET", version, secrets.token_hex(8), confirm=True)


def text(stored: bytes | str) -> str:
    """A value of Redis as text."""
    return stored.decode() if isinstance(stored, bytes) else stored


def _version(stored: bytes | str | None) -> str:
    return "0" if stored is None else text(stored)


def _names(stored: bytes | str | None) -> frozenset[str] | None:
    return None if stored is None else frozenset(orjson.loads(stored))


@lru_cache(256)
def read_base(stored: bytes) -> Base:
    """Who answers for a model, as its route is stored: a URL, or a target in JSON."""
    return RemoteTarget.model_validate_json(stored) if stored.startswith(b"{") else stored.decode()


def queue(pipeline: Pipeline) -> None:
    """End reading: later commands are queued for the transaction."""
    pipeline.multi()  # type: ignore[no-untyped-call]


def field(binding: Binding) -> str:
    """The field of the hash of bindings that holds the policy of ``binding``."""
    return orjson.dumps(list(binding)).decode()


def read_binding(stored: bytes | str) -> Binding:
    """The binding of a field that `field` made."""
    return Binding(*orjson.loads(stored))
