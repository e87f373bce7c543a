"""Budgets in samples: charged before the provider is asked, refunded where it fails; each is one script.

A request without an ``Idempotency-Key`` is charged at once. One with a key is reserved, and settled together
with the answer that is kept for its repeats.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from leakrange.services.proxy.leases import Lease, Leases, StaleLease
from leakrange.services.proxy.limits.base import NO_BOUNDS, Bounds
from leakrange.services.proxy.pipe import Pipe
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.services.proxy.retries import Retries
from leakrange.services.proxy.script_runner import Script, ScriptRunner
from leakrange.services.proxy.spread import SpreadLimits, Taken
from leakrange.wire.errors import (
    BudgetExhausted,
    Conflict,
    InFlight,
    InvalidInput,
    Unavailable,
)

ADMIT, REFUND, ACCOUNT = (Script(name) for name in ("admit", "refund", "account"))
CHARGE, RESERVE, SETTLE = (Script(name, confirmed=True) for name in ("charge", "reserve", "settle"))


NO_NUMBERS: Mapping[str, int] = MappingProxyType({})


class StaleConfiguration(Exception):
    """Policies, bindings, routes or keys have changed since the caller read them; nothing was reserved."""


class Idempotency(NamedTuple):
    """A request's ``Idempotency-Key`` and a digest of the request it stands for, both as SHA-256 (hex)."""

    key: str
    request: str


class Balance(NamedTuple):
    """The tightest bound of a key: the samples that it allows in all (None: nothing bounds it), and how many
    of them are left."""

    limit: int | None
    remaining: int

    def headers(self) -> dict[str, str]:
        """The ``RateLimit-*`` headers; none for an unlimited key."""
        if self.limit is None:
            return {}
        return {"RateLimit-Limit": str(self.limit), "RateLimit-Remaining": str(max(0, self.remaining))}


NOT_KNOWN = Balance(None, 0)


class KeptAnswer(NamedTuple):
    """An answer as it is stored for repeats of the same request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Charge(NamedTuple):
    """Samples that one request has taken; they are spent, or reserved where it carries an
    ``Idempotency-Key``."""

    key_id: str
    samples: int
    balance: Balance
    name: str
    idempotency: Idempotency | None = None
    bounds: Bounds = NO_BOUNDS
    numbers: Mapping[str, int] = NO_NUMBERS
    """Numbers that limits return for the request, by the limits' names."""
    lease: Lease | None = None
    """Lease that the samples were taken from."""
    taken: tuple[Taken, ...] = ()
    """What was charged under limits that lie elsewhere than the account."""


class Replay(NamedTuple):
    """The request was answered before."""

    answer: KeptAnswer
    balance: Balance


class BudgetLedger:
    """The accounts of all keys, in Redis. Every method raises `Unavailable` while Redis cannot be reached.

    hold: seconds after which a reservation that was neither settled nor refunded is given back. lease:
    seconds after which a silent proxy's share of leased budgets is spent. keep: seconds that an answer is
    kept for repeats, of at most keep_bytes.
    """

    def __init__(self, pipe: Pipe, *, hold: float, lease: float, keep: float, keep_bytes: int) -> None:
        self._hold, self._keep, self._keep_bytes = round(hold * 1000), round(keep * 1000), keep_bytes
        self._process, self._count = secrets.token_hex(8), itertools.count()
        self._scripts = ScriptRunner(pipe)
        self._spread = SpreadLimits(self._scripts)
        self._retries = Retries(hold)
        self.leases = Leases(self._scripts, self._process, lease)

    async def close(self) -> None:
        """Settle the leases; no charge may follow."""
        await self._retries.close()
        await self.leases.close()

    async def admit(self, key_id: str, version: str, idempotency_key: str | None) -> None:
        """Refuse a key without samples before the size of its request is known, unless it repeats a request;
        ``idempotency_key`` is that of `Idempotency`. Nothing is reserved.

        Raises `StaleConfiguration` or `BudgetExhausted`.
        """
        repeats = idempotency_key or ""
        with redis_errors():
            current, (outcome, *rest) = await self._scripts.on_account(
                ADMIT, key_id, version, repeats, idempotency=repeats
            )
        if not current:
            raise StaleConfiguration
        if outcome == b"exhausted":
            raise _exhausted(rest, asked=1)

    async def charge(self, key_id: str, version: str, samples: int, bounds: Bounds = NO_BOUNDS) -> Charge:
        """Spend ``samples`` of the key, and of its ``bounds``.

        Raises `StaleConfiguration` when ``version`` is not the current one, or `BudgetExhausted`. Then
        nothing was charged.
        """
        name = self._name()
        here, elsewhere = self._spread.divide(bounds)
        with redis_errors():
            current, (outcome, *rest) = await self._scripts.on_account(
                CHARGE, key_id, version, samples, name, *here.arguments
            )
        if not current and outcome != b"charged":
            raise StaleConfiguration
        if outcome == b"exhausted":
            raise _exhausted(rest, asked=samples)
        charge = Charge(key_id, samples, _balance(rest), name, None, here, _numbers(here, rest))
        if not current or elsewhere.names:
            charge = await self._completed(charge, current, elsewhere)
        return charge

    async def charge_leased(self, key_id: str, version: str, samples: int) -> Charge:
        """Spend ``samples`` of this process's lease of the key, which takes more where it has too few. Raises
        as `charge` does."""
        try:
            lease = await self.leases.charge(key_id, version, samples)
        except StaleLease as error:
            raise StaleConfiguration from error
        return Charge(key_id, samples, Balance(lease.limit, lease.remaining), "", lease=lease)

    async def reserve(
        self,
        key_id: str,
        version: str,
        samples: int,
        idempotency: Idempotency,
        bounds: Bounds = NO_BOUNDS,
    ) -> Charge | Replay:
        """Set ``samples`` of the key aside, or find that the request was answered before.

        Raises as `charge` does, `InFlight`, `Conflict` (the answer to the request was too large to keep) or
        `InvalidInput` (the idempotency key belongs to another request). Then nothing was reserved.
        """
        name = self._name()
        here, elsewhere = self._spread.divide(bounds)
        try:
            with redis_errors():
                current, (outcome, *rest) = await self._scripts.on_account(
                    RESERVE,
                    key_id,
                    version,
                    samples,
                    name,
                    self._hold,
                    *idempotency,
                    *here.arguments,
                    idempotency=idempotency.key,
                )
        except Unavailable:
            self._undo_later(Charge(key_id, samples, NOT_KNOWN, name, idempotency, here))
            raise
        if not current and outcome != b"reserved":
            raise StaleConfiguration
        match outcome:
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
            case b"exhausted":
                raise _exhausted(rest, asked=samples)
            case b"replay":
                status, headers, body = rest[3:]
                return Replay(KeptAnswer(int(status), orjson.loads(headers), body), _balance(rest))
        charge = Charge(key_id, samples, _balance(rest), name, idempotency, here, _numbers(here, rest))
        if not current or elsewhere.names:
            charge = await self._completed(charge, current, elsewhere)
        return charge

    async def _completed(self, charge: Charge, current: bool, elsewhere: Bounds) -> Charge:
        """The charge with the limits that lie ``elsewhere`` than its account; it is undone where one of them
        refuses, or where the configuration is not ``current``. Where it cannot be known what was done, what
        may have been charged stays so."""
        if not current:
            await self.refund(charge, counted="")
            raise StaleConfiguration
        try:
            with redis_errors():
                taken, refusal = await self._spread.take(
                    (charge.key_id, charge.samples, charge.name), elsewhere
                )
        except Unavailable:
            self._undo_later(charge)
            raise
        if refusal is not None:
            await self.refund(charge, counted="refused")
            raise _exhausted(refusal, asked=charge.samples)
        limit, remaining = charge.balance
        for each in taken:
            if each.limit is not None and (limit is None or each.remaining < remaining):
                limit, remaining = each.limit, each.remaining
        numbers = {each.name: each.number for each in taken if each.number is not None}
        return charge._replace(balance=Balance(limit, remaining), numbers=numbers, taken=tuple(taken))

    async def settle(self, charge: Charge, answer: KeptAnswer) -> None:
        """Spend the reserved samples after the provider answered, and keep the answer for repeats. A charge
        without an idempotency key is settled already.

        It must come before the answer is sent: everything that was sent has been paid. Raises `Unavailable`
        where the answer took so long that its samples were given away, or where the account is gone. The
        answer must not be sent then.
        """
        if (idempotency := charge.idempotency) is None:
            return
        record: tuple[Any, ...] = "large", 0, b"", b""
        if len(answer.body) <= self._keep_bytes:
            record = "done", answer.status, orjson.dumps(dict(answer.headers)), answer.body
        try:
            with redis_errors():
                outcome, *_ = await self._on_account(
                    SETTLE,
                    charge,
                    *idempotency,
                    self._keep,
                    *record,
                    *charge.bounds.arguments,
                )
        except Unavailable:
            self._undo_later(charge)
            raise
        if outcome == b"late":
            raise Unavailable(
                "the samples of this answer are not set aside any more: the provider took too long, or the"
                " ledger has lost its data",
                retry_after=1.0,
            )

    async def refund(self, charge: Charge, counted: str = "refunded") -> None:
        """Free the samples, and the idempotency key, after the provider did not answer. The account counts
        it under that name."""
        if charge.lease is not None and charge.lease.give(charge.samples):
            return
        try:
            await self._undo(charge, counted)
        except Unavailable:
            self._undo_later(charge)
            raise

    def _undo_later(self, charge: Charge) -> None:
        """Give a reservation back as soon as Redis answers, since it may have been made. Doing that twice
        does no harm, nor where the charge was settled; for an immediate charge it would."""
        if charge.idempotency is not None:
            self._retries.add(partial(self._undo, charge))

    async def _undo(self, charge: Charge, counted: str = "refunded") -> None:
        idempotency_key = charge.idempotency.key if charge.idempotency else ""
        spent = int(charge.idempotency is None)
        with redis_errors():
            _, undone = await self._on_account(
                REFUND, charge, idempotency_key, spent, counted, *charge.bounds.arguments
            )
            if undone and charge.taken:
                await self._spread.give((charge.key_id, charge.samples, charge.name), charge.taken)

    async def _on_account(self, script: Script, charge: Charge, *arguments: Any) -> Any:
        """The result of a script that goes on with a charge, whatever the configuration is by now."""
        names, id_ = self._scripts.names, charge.key_id
        keys = names.of_account(id_, charge.idempotency.key if charge.idempotency else "")
        return await self._scripts.run(
            script, keys, names.tagged(id_), charge.samples, charge.name, *arguments
        )

    def _name(self) -> str:
        return f"{self._process}-{next(self._count)}"

    async def account(self, key_id: str) -> dict[str, str]:
        """The stored fields of a key with its current counts; empty where there is no such key."""
        with redis_errors():
            names = self._scripts.names
            flat = await self._scripts.run(ACCOUNT, names.of_account(key_id), names.tagged(key_id))
        texts = [item.decode() for item in flat]
        return dict(zip(texts[::2], texts[1::2], strict=True))


def _balance(rest: list[Any]) -> Balance:
    # Lua's false arrives as None: unlimited.
    return Balance(None if rest[1] is None else int(rest[1]), int(rest[2]))


def _numbers(bounds: Bounds, rest: list[Any]) -> Mapping[str, int]:
    if not bounds.names:
        return NO_NUMBERS
    return {name: int(value) for name, value in zip(bounds.names, rest[3], strict=True) if value is not None}


def _exhausted(rest: list[Any], *, asked: int) -> BudgetExhausted:
    balance, unspent, limit, wait = _balance(rest), int(rest[3]), rest[4].decode(), int(rest[5])
    remaining = max(0, balance.remaining)
    if limit:
        return BudgetExhausted(
            f"{asked} samples asked, and the limit {limit!r} leaves {remaining}",
            hint="ask for fewer samples"
            + (", or wait" if wait > 0 else f", or have the operator raise {limit!r}"),
            headers=balance.headers(),
            retry_after=math.ceil(wait / 1000) if wait > 0 else None,
            asked=asked,
            remaining=remaining,
            limit=limit,
        )
    # Others of the same key are being answered; should one of them fail, its samples come back.
    in_flight = unspent - balance.remaining
    return BudgetExhausted(
        f"{asked} samples asked, {remaining} remain" + (f" ({in_flight} are in flight)" if in_flight else ""),
        headers=balance.headers(),
        retry_after=1.0 if unspent >= asked else None,
        asked=asked,
        remaining=remaining,
    )
