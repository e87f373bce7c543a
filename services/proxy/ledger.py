"""Budgets in samples: reserve before asking the provider, then settle or refund; each is one script."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import Any

import orjson
from redis.asyncio import Redis

from leakrange.wire.errors import (
    BudgetExhausted,
    Conflict,
    InFlight,
    InvalidInput,
    Unauthenticated,
    Unavailable,
)
from services.proxy.redis_client import PREFIX, redis_errors
from services.proxy.script_runner import Script, ScriptRunner

ADMIT, RESERVE, SETTLE, REFUND, ACCOUNT = (
    Script(name) for name in ("admit", "reserve", "settle", "refund", "account")
)


class StaleConfiguration(Exception):
    """Policies, bindings, routes or keys have changed since the caller read them; nothing was reserved."""


@dataclass(frozen=True)
class Idempotency:
    """A request's ``Idempotency-Key`` and a digest of the request it stands for, both as SHA-256 (hex)."""

    key: str
    request: str


@dataclass(frozen=True)
class Balance:
    """A key's budget in samples (None: unlimited) and how many are neither spent nor reserved."""

    limit: int | None
    remaining: int

    def headers(self) -> dict[str, str]:
        """``RateLimit-*``; nothing for an unlimited key."""
        if self.limit is None:
            return {}
        return {"RateLimit-Limit": str(self.limit), "RateLimit-Remaining": str(max(0, self.remaining))}


@dataclass(frozen=True)
class KeptAnswer:
    """An answer as it is stored for repeats of the same request."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reservation:
    """Samples set aside for one request."""

    key_id: str
    samples: int
    balance: Balance
    idempotency: Idempotency | None
    name: str


@dataclass(frozen=True)
class Replay:
    """The request was answered before."""

    answer: KeptAnswer
    balance: Balance


class Ledger:
    """The accounts of all keys, in Redis. Every method raises `Unavailable` while Redis cannot be reached.

    hold: seconds after which a reservation that was neither settled nor refunded is given back. keep: seconds
    that an answer is kept for repeats, of at most keep_bytes.
    """

    def __init__(self, redis: Redis, *, hold: float, keep: float, keep_bytes: int) -> None:
        self._hold, self._keep, self._keep_bytes = round(hold * 1000), round(keep * 1000), keep_bytes
        self._process, self._count = secrets.token_hex(8), itertools.count()
        self._scripts = ScriptRunner(redis)

    async def admit(self, fingerprint: str, idempotency_key: str | None) -> None:
        """Refuse a key that has no sample left before it is known how many it asks, unless it repeats a
        request; ``idempotency_key`` is that of `Idempotency`. Nothing is reserved.

        Raises `Unauthenticated` or `BudgetExhausted`.
        """
        with redis_errors():
            outcome, *rest = await self._scripts.run(ADMIT, PREFIX, fingerprint, idempotency_key or "")
        if outcome == b"unknown":
            raise Unauthenticated("unknown API key")
        if outcome == b"exhausted":
            raise _exhausted(_balance(rest), unspent=int(rest[3]), asked=1)

    async def reserve(
        self, fingerprint: str, version: str, samples: int, idempotency: Idempotency | None
    ) -> Reservation | Replay:
        """Set ``samples`` of the key aside, or find that the request was answered before.

        Raises `StaleConfiguration` when ``version`` is not the current one, `Unauthenticated`,
        `BudgetExhausted`, `InFlight`, `Conflict` (the answer to the request was too large to keep) or
        `InvalidInput` (the idempotency key belongs to another request). Then nothing was reserved.
        """
        name = f"{self._process}-{next(self._count)}"
        kept = (idempotency.key, idempotency.request) if idempotency else ("", "")
        with redis_errors():
            outcome, *rest = await self._scripts.run(
                RESERVE, PREFIX, fingerprint, version, samples, name, self._hold, *kept
            )
        match outcome:
            case b"unknown":
                raise Unauthenticated("unknown API key")
            case b"stale":
                raise StaleConfiguration
            case b"mismatch":
                raise InvalidInput(
                    "this Idempotency-Key belongs to another request",
                    hint="a new request needs a new Idempotency-Key",
                )
            case b"in-flight":
                raise InFlight(
                    "a request with this Idempotency-Key is being answered right now",
                    held=max(0, int(rest[0])) / 1000,
                )
            case b"large":
                raise Conflict(
                    "this request was answered, and its answer was too large to keep",
                    hint="ask for fewer samples under a new Idempotency-Key",
                )
        balance = _balance(rest)
        if outcome == b"exhausted":
            raise _exhausted(balance, unspent=int(rest[3]), asked=samples)
        if outcome == b"replay":
            status, headers, body = rest[3:]
            return Replay(KeptAnswer(int(status), orjson.loads(headers), body), balance)
        return Reservation(rest[0].decode(), samples, balance, idempotency, name)

    async def settle(self, reservation: Reservation, answer: KeptAnswer) -> Balance:
        """The provider answered: the samples are spent, and the answer is kept for repeats.

        Must come before the answer is sent: what has been sent has been paid. Raises `Unavailable` where the
        answer took so long that its samples were given away; it must not be sent then.
        """
        kept: list[Any] = ["", "", self._keep, "done", 0, b"", b""]
        if idempotency := reservation.idempotency:
            kept[:2] = idempotency.key, idempotency.request
            if len(answer.body) <= self._keep_bytes:
                kept[4:] = answer.status, orjson.dumps(answer.headers), answer.body
            else:
                kept[3] = "large"
        with redis_errors():
            outcome, *rest = await self._scripts.run(
                SETTLE, PREFIX, reservation.key_id, reservation.samples, reservation.name, *kept
            )
        if outcome == b"late":
            raise Unavailable("the provider took longer than the reservation of the samples", retry_after=1.0)
        return _balance(rest)

    async def refund(self, reservation: Reservation) -> None:
        """The provider did not answer: the samples, and the idempotency key, are free again."""
        kept = reservation.idempotency.key if reservation.idempotency else ""
        with redis_errors():
            await self._scripts.run(
                REFUND, PREFIX, reservation.key_id, reservation.samples, reservation.name, kept
            )

    async def account(self, key_id: str) -> dict[str, str]:
        """The stored fields of a key, its counts as they are now; empty where there is no such key."""
        with redis_errors():
            flat = await self._scripts.run(ACCOUNT, PREFIX, key_id)
        texts = [item.decode() for item in flat]
        return dict(zip(texts[::2], texts[1::2], strict=True))


def _balance(rest: list[Any]) -> Balance:
    # Lua's false arrives as None: unlimited.
    return Balance(None if rest[1] is None else int(rest[1]), int(rest[2]))


def _exhausted(balance: Balance, *, unspent: int, asked: int) -> BudgetExhausted:
    remaining = max(0, balance.remaining)
    # Others of the same key are being answered; should one of them fail, its samples come back.
    in_flight = unspent - balance.remaining
    return BudgetExhausted(
        f"{asked} samples asked, {remaining} remain" + (f" ({in_flight} are in flight)" if in_flight else ""),
        headers=balance.headers(),
        retry_after=1.0 if unspent >= asked else None,
        asked=asked,
        remaining=remaining,
    )
