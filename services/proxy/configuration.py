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
from leakrange.services.proxy.redis_client import PREFIX, redis_errors
from leakrange.services.proxy.snapshot import Base, Binding, KeyRecord, Snapshot
from leakrange.targets.target import RemoteTarget
from leakrange.wire.errors import Unauthenticated

VERSION = PREFIX + "version"
POLICIES = PREFIX + "policies"
BINDINGS = PREFIX + "bindings"
SHADOWS = PREFIX + "shadows"
ROUTES = PREFIX + "routes"
LIMITS = PREFIX + "limits"
KEYS = PREFIX + "keys"
AUTH = PREFIX + "auth:"
KEY = PREFIX + "key:"
T = TypeVar("T")
MOST_KEYS = 10_000
"""Most keys whose records are cached; beyond, the cache starts anew."""


class Configuration:
    """Reader of the admin API's writes, whichever proxy process they went through."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._keys: dict[str, KeyRecord] = {}
        self._lock = asyncio.Lock()
        self.snapshot = Snapshot()

    async def refresh(self) -> Snapshot:
        """The current configuration, read anew only if its version has changed."""
        with redis_errors():
            version = _version(await self._redis.get(VERSION))
            if version != self.snapshot.version:
                async with self._lock:  # one reads, and the others wait for its result
                    if version != self.snapshot.version:
                        await self._read()
        return self.snapshot

    async def _read(self) -> None:
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.get(VERSION)
            for stored in (POLICIES, BINDINGS, ROUTES, LIMITS, SHADOWS):
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
            stored_id = await self._redis.get(AUTH + fingerprint)
            if stored_id is None:
                raise Unauthenticated("unknown API key")
            id_ = text(stored_id)
            stored = await self._redis.hmget(KEY + id_, "models", "endpoints", "limits", "counting")
        models, endpoints = _names(stored[0]), _names(stored[1])
        limits = tuple(orjson.loads(stored[2])) if stored[2] else ()
        record = KeyRecord(id_, models, endpoints, limits, leased=stored[3] == b"leased")
        if self.snapshot is snapshot:  # else it may be older than the configuration that was read meanwhile
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
                    if not pipeline.command_stack:
                        return result
                    # A token, not a count: were Redis to lose its data, a count would come to the same number
                    # again, and a cache of what was lost would pass for the present.
                    pipeline.set(VERSION, secrets.token_hex(8))
                    try:
                        await pipeline.execute()
                        return result
                    except WatchError:
                        continue


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
    """The field of the hash `BINDINGS` that holds the policy of ``binding``."""
    return orjson.dumps(list(binding)).decode()


def read_binding(stored: bytes | str) -> Binding:
    """The binding of a field that `field` made."""
    return Binding(*orjson.loads(stored))
