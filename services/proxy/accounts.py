"""API keys as the operator manages them: create, change, revoke, list."""

from __future__ import annotations

import secrets
import time

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.typing import EncodableT, FieldT

from leakrange.services.proxy.configuration import (
    AUTH,
    BINDINGS,
    KEY,
    KEYS,
    LIMITS,
    POLICIES,
    Configuration,
    field,
    queue,
    text,
)
from leakrange.services.proxy.keys import fingerprint, new_key
from leakrange.services.proxy.ledger import BudgetLedger
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.services.proxy.snapshot import Binding
from leakrange.wire.administration import Account, KeyChange, KeyRequest
from leakrange.wire.errors import Conflict, InvalidInput, NotFound


class AccountStore:
    """Keys and their accounts; every change is live with the next request of every proxy process."""

    def __init__(self, redis: Redis, configuration: Configuration, ledger: BudgetLedger) -> None:
        self._redis, self._configuration, self._ledger = redis, configuration, ledger

    async def create(self, request: KeyRequest) -> tuple[Account, str, bool]:
        """Make a key, and return its account, the key itself, and whether it is new.

        The same id with the same key returns the existing account. Raises `Conflict` for an id or a key that
        is in use otherwise, `InvalidInput` for an unknown policy or limit.
        """
        key = request.key or new_key()
        mark = fingerprint(key)
        id_ = request.id or secrets.token_hex(8)
        stored: dict[FieldT, EncodableT] = {
            "name": request.name,
            "hash": mark,
            "created": time.time(),
            "spent": 0,
            "reserved": 0,
            **{name: value for name, value in _bounds(request).items() if value is not None},
        }

        async def write(pipeline: Pipeline) -> bool:
            existing = await pipeline.hget(KEY + id_, "hash")
            owner = await pipeline.get(AUTH + mark)
            if existing is not None:
                if text(existing) == mark and owner is not None:
                    return False
                raise Conflict(f"there is a key with the id {id_!r}", hint="give another id", id=id_)
            if owner is not None:
                raise Conflict("this key is in use under another id", hint="give another key")
            await _check_limits(pipeline, request.limits, request.counting)
            if request.policy is not None and not await pipeline.hexists(POLICIES, request.policy):
                raise InvalidInput(f"there is no policy {request.policy!r}", hint="PUT the policy first")
            queue(pipeline)
            pipeline.hset(KEY + id_, mapping=stored)
            pipeline.set(AUTH + mark, id_)
            pipeline.sadd(KEYS, id_)
            if request.policy is not None:
                pipeline.hset(BINDINGS, field(Binding(id_)), request.policy)
            return True

        new = await self._configuration.change(write, KEY + id_, AUTH + mark, POLICIES, LIMITS)
        return await self.get(id_), key, new

    async def get(self, id_: str) -> Account:
        """The account of one key. Raises `NotFound`."""
        stored = await self._ledger.account(id_)
        if "hash" not in stored:
            raise NotFound(f"no key has the id {id_!r}")
        with redis_errors():
            policy = await self._redis.hget(BINDINGS, field(Binding(id_)))
        return _account(id_, stored, None if policy is None else text(policy))

    async def all(self) -> list[Account]:
        """The account of every key, oldest first."""
        with redis_errors():
            ids = [text(id_) for id_ in await self._redis.smembers(KEYS)]
        return sorted([await self.get(id_) for id_ in ids], key=lambda account: (account.created, account.id))

    async def change(self, id_: str, change: KeyChange) -> Account:
        """Change a key. Raises `NotFound`, and `InvalidInput` for an unknown limit, or for limits together
        with leased counting."""
        fields = change.model_fields_set

        async def write(pipeline: Pipeline) -> None:
            mark = await pipeline.hget(KEY + id_, "hash")
            if mark is None:
                raise NotFound(f"no key has the id {id_!r}")
            await _check_limits(pipeline, *await _becomes(pipeline, id_, change))
            queue(pipeline)
            if "name" in fields and change.name is not None:
                pipeline.hset(KEY + id_, "name", change.name)
            for name, value in _bounds(change).items():
                if name in fields:
                    if value is None:
                        pipeline.hdel(KEY + id_, name)
                    else:
                        pipeline.hset(KEY + id_, name, value)
            if change.revoked:
                pipeline.hset(KEY + id_, "revoked", 1)
                pipeline.delete(AUTH + text(mark))

        await self._configuration.change(write, KEY + id_, LIMITS)
        return await self.get(id_)


async def _becomes(pipeline: Pipeline, id_: str, change: KeyChange) -> tuple[list[str], str]:
    """The limits and the counting of the key after the change."""
    stored = await pipeline.hmget(KEY + id_, "limits", "counting")
    limits = orjson.loads(stored[0]) if stored[0] else []
    counting = text(stored[1]) if stored[1] else "exact"
    fields = change.model_fields_set
    return (change.limits or []) if "limits" in fields else limits, (
        (change.counting or "exact") if "counting" in fields else counting
    )


async def _check_limits(pipeline: Pipeline, names: list[str], counting: str) -> None:
    if names and counting == "leased":
        raise InvalidInput(
            "limits are counted at every request, so leased counting takes none",
            hint="count the key exactly, or give it no limits",
        )
    for name in names:
        if not await pipeline.hexists(LIMITS, name):
            raise InvalidInput(f"there is no limit {name!r}", hint="PUT the limit first")


def _bounds(request: KeyRequest | KeyChange) -> dict[str, int | bytes | str | None]:
    """The bounds of a key, by the field in which each is stored; None where there is none."""
    lists = {"models": request.models, "endpoints": request.endpoints}
    stored = {name: None if each is None else orjson.dumps(sorted(set(each))) for name, each in lists.items()}
    return {
        "budget": request.budget,
        **stored,
        "limits": orjson.dumps(request.limits) if request.limits else None,
        "counting": request.counting if request.counting == "leased" else None,
    }


def _account(id_: str, stored: dict[str, str], policy: str | None) -> Account:
    counts = {name: int(stored.get(name, 0)) for name in _COUNTS}
    held = int(stored.get("leased", 0))
    taken = counts["spent"] + counts["reserved"] + held
    budget = int(stored["budget"]) if "budget" in stored else None
    return Account(
        id=id_,
        name=stored["name"],
        policy=policy,
        models=orjson.loads(stored["models"]) if "models" in stored else None,
        endpoints=orjson.loads(stored["endpoints"]) if "endpoints" in stored else None,
        limits=orjson.loads(stored["limits"]) if "limits" in stored else [],
        counting="leased" if "counting" in stored else "exact",
        revoked="revoked" in stored,
        created=float(stored["created"]),
        budget=budget,
        held=held,
        remaining=None if budget is None else max(0, budget - taken),
        **counts,
    )


_COUNTS = ("spent", "reserved", "requests", "replays", "refused", "refunded")
