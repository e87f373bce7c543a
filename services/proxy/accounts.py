"""API keys as the operator manages them: create, change, revoke, list."""

from __future__ import annotations

import secrets
import time

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.typing import EncodableT, FieldT

from leakrange.services.proxy.configuration import Configuration, field, queue, text
from leakrange.services.proxy.keys import fingerprint, new_key
from leakrange.services.proxy.ledger import BudgetLedger
from leakrange.services.proxy.names import LedgerNames
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.services.proxy.snapshot import Binding
from leakrange.wire.administration import Account, KeyChange, KeyRequest
from leakrange.wire.errors import Conflict, InvalidInput, NotFound


class AccountStore:
    """Keys and their accounts; every change is live with the next request of every proxy process."""

    def __init__(self, redis: Redis, configuration: Configuration, ledger: BudgetLedger) -> None:
        self._redis, self._configuration, self._ledger = redis, configuration, ledger
        self._names = configuration.names

    async def create(self, request: KeyRequest) -> tuple[Account, str, bool]:
        """Make a key, and return its account, the key itself, and whether it is new.

        The same id with the same key returns the existing account. Raises `Conflict` for an id or a key that
        is in use otherwise, `InvalidInput` for an unknown policy or limit.
        """
        key = request.key or new_key()
        mark, *further = marks = [fingerprint(each) for each in (key, *request.further_keys)]
        id_ = request.id or secrets.token_hex(8)
        stored: dict[FieldT, EncodableT] = {
            "name": request.name,
            "hash": mark,
            "created": time.time(),
            "spent": 0,
            "reserved": 0,
            **({"former": orjson.dumps(further)} if further else {}),
            **{name: value for name, value in _bounds(request).items() if value is not None},
        }

        names = self._names

        async def write(pipeline: Pipeline) -> bool:
            existing, former = await _marks(pipeline, names.record(id_))
            owners = {each: await pipeline.get(names.auth(each)) for each in marks}
            owned = {text(owner) for owner in owners.values() if owner is not None}
            if existing is not None and id_ not in owned:
                raise Conflict(f"there is a key with the id {id_!r}", hint="give another id", id=id_)
            if owned - {id_}:
                raise Conflict("this key is in use under another id", hint="give another key")
            if existing is not None:
                if missing := [each for each in marks if owners[each] is None]:
                    queue(pipeline)
                    pipeline.hset(names.record(id_), "former", orjson.dumps([*former, *missing]))
                    pipeline.mset({names.auth(each): id_ for each in missing})
                return False
            await _check_limits(pipeline, names, request.limits, request.counting)
            if request.policy is not None and not await pipeline.hexists(names.policies, request.policy):
                raise InvalidInput(f"there is no policy {request.policy!r}", hint="PUT the policy first")
            queue(pipeline)
            pipeline.hset(names.record(id_), mapping=stored)
            pipeline.mset({names.auth(each): id_ for each in marks})
            pipeline.sadd(names.keys, id_)
            if request.policy is not None:
                pipeline.hset(names.bindings, field(Binding(id_)), request.policy)
            return True

        watched = names.record(id_), *map(names.auth, marks), names.policies, names.limits
        new = await self._configuration.change(write, *watched)
        await self._carry(id_)
        return await self.get(id_), key, new

    async def get(self, id_: str) -> Account:
        """The account of one key. Raises `NotFound`."""
        stored = await self._ledger.account(id_)
        with redis_errors():
            if self._names.clustered:
                record = await self._redis.hgetall(self._names.record(id_))
                stored = {text(name): text(value) for name, value in record.items()} | stored
            if "hash" not in stored:
                raise NotFound(f"no key has the id {id_!r}")
            policy = await self._redis.hget(self._names.bindings, field(Binding(id_)))
        return _account(id_, stored, None if policy is None else text(policy))

    async def all(self) -> list[Account]:
        """The account of every key, oldest first."""
        with redis_errors():
            ids = [text(id_) for id_ in await self._redis.smembers(self._names.keys)]
        return sorted([await self.get(id_) for id_ in ids], key=lambda account: (account.created, account.id))

    async def change(self, id_: str, change: KeyChange) -> Account:
        """Change a key. Raises `NotFound`, and `InvalidInput` for an unknown limit, or for limits together
        with leased counting."""
        fields, names = change.model_fields_set, self._names

        async def write(pipeline: Pipeline) -> None:
            mark, former = await _marks(pipeline, names.record(id_))
            if mark is None:
                raise NotFound(f"no key has the id {id_!r}")
            await _check_limits(pipeline, names, *await _becomes(pipeline, names.record(id_), change))
            queue(pipeline)
            if "name" in fields and change.name is not None:
                pipeline.hset(names.record(id_), "name", change.name)
            for name, value in _bounds(change).items():
                if name in fields:
                    if value is None:
                        pipeline.hdel(names.record(id_), name)
                    else:
                        pipeline.hset(names.record(id_), name, value)
            if change.revoked:
                pipeline.hset(names.record(id_), "revoked", 1)
                pipeline.delete(*map(names.auth, (mark, *former)))

        await self._configuration.change(write, names.record(id_), names.limits)
        if "budget" in fields:
            await self._carry(id_)
        return await self.get(id_)

    async def rotate(self, id_: str, overlap: int) -> tuple[Account, str]:
        """Give an account another key, and return both. Its keys before it end after ``overlap`` seconds, or
        when they would have ended. Raises `NotFound`, and `Conflict` for a revoked key."""
        key, names = new_key(), self._names
        record = names.record(id_)

        async def write(pipeline: Pipeline) -> None:
            mark, former = await _marks(pipeline, record)
            if mark is None:
                raise NotFound(f"no key has the id {id_!r}")
            if await pipeline.hexists(record, "revoked"):
                raise Conflict(f"the key {id_!r} is revoked for good", hint="make another key")
            left = {each: await pipeline.pttl(names.auth(each)) for each in (mark, *former)}
            queue(pipeline)
            for each, milliseconds in left.items():
                if milliseconds == _FOR_EVER or milliseconds > overlap * 1000:
                    pipeline.expire(names.auth(each), overlap)
            valid = [each for each, milliseconds in left.items() if milliseconds != _GONE]
            pipeline.hset(record, mapping={"hash": fingerprint(key), "former": orjson.dumps(valid)})
            pipeline.set(names.auth(fingerprint(key)), id_)

        await self._configuration.change(write, record)
        return await self.get(id_), key

    async def _carry(self, id_: str) -> None:
        """Bring the budget of a key to its account, where that lies elsewhere. Where another change came
        between, it is brought again, so that the last one stands. Samples that a proxy took meanwhile under
        the former budget go back, since the configuration has a new version then."""
        if not self._names.clustered:
            return
        pipe, account = self._configuration.pipe, self._names.account(id_)
        brought: list[bytes | str | None] = []
        with redis_errors():
            while brought != (stored := await self._redis.hmget(self._names.record(id_), "hash", "budget")):
                mark, budget = brought = stored
                fields = ("hash", mark) if budget is None else ("hash", mark, "budget", budget)
                await pipe.call("HSET", account, *fields, confirm=True)
                if budget is None:
                    await pipe.call("HDEL", account, "budget", confirm=True)
            await self._configuration.renew()


async def _marks(pipeline: Pipeline, record: str) -> tuple[str | None, list[str]]:
    """The fingerprint of the newest key of an account, None where there is no account, and of its others."""
    mark, former = await pipeline.hmget(record, "hash", "former")
    return None if mark is None else text(mark), orjson.loads(former) if former else []


async def _becomes(pipeline: Pipeline, record: str, change: KeyChange) -> tuple[list[str], str]:
    """The limits and the counting of the key after the change."""
    stored = await pipeline.hmget(record, "limits", "counting")
    limits = orjson.loads(stored[0]) if stored[0] else []
    counting = text(stored[1]) if stored[1] else "exact"
    fields = change.model_fields_set
    return (change.limits or []) if "limits" in fields else limits, (
        (change.counting or "exact") if "counting" in fields else counting
    )


async def _check_limits(pipeline: Pipeline, names: LedgerNames, limits: list[str], counting: str) -> None:
    if limits and counting == "leased":
        raise InvalidInput(
            "limits are counted at every request, so leased counting takes none",
            hint="count the key exactly, or give it no limits",
        )
    for name in limits:
        if not await pipeline.hexists(names.limits, name):
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


_FOR_EVER, _GONE = -1, -2
"""What Redis says of the time that is left to what has no end, and to what is not there."""
_COUNTS = ("spent", "reserved", "requests", "replays", "refused", "refunded")
