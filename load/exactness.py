"""Spending of few keys by many clients under every counting and every kind of limit: is the ledger exact?

A tenth of the provider's answers should fail, so that refunds are counted too. The clients' answers are
counted here, sample by sample, and compared with the ledger.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import numpy as np
from numpy.typing import NDArray

from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["CASES", "CaseResult", "CountingCase", "LedgerTarget", "spend"]

Answered = Counter[tuple[str, str, str]]
"""Samples by key, model and endpoint."""
SIZES = (1, 2, 3, 5, 8)
COSTS = {"features": 7, "softmax": 2, "logits": 1}
GIVE_UP = 40
"""Refusals in a row after which a client ends; the last samples are then asked for one by one."""


@dataclass(frozen=True)
class LedgerTarget:
    """The target: proxies on one ledger, their models, and the shape of a sample."""

    proxies: Sequence[str]
    operator: str
    models: Sequence[str]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class CountingCase:
    """One way of counting. ``limit`` gives the limit for a bound of so many samples; ``counted`` its expected
    counts, given the answers."""

    name: str
    key: Mapping[str, Any] = field(default_factory=dict)
    limit: Callable[[int], dict[str, Any]] | None = None
    counted: Callable[[Answered], Mapping[str, int]] | None = None
    full: Callable[[int, int, int], int] | None = None
    """Its expected total, from the bound and the numbers of keys and models; None where that depends on the
    order of requests."""
    named: bool = False
    """Whether requests carry an ``Idempotency-Key``."""
    alike: bool = False
    """Whether keys ask about the same samples, five keys each."""


def _by(answered: Answered, name: Callable[[str, str, str], str], cost: bool = False) -> Mapping[str, int]:
    counted = Counter[str]()
    for (key, model, endpoint), samples in answered.items():
        counted[name(key, model, endpoint)] += samples * (COSTS[endpoint] if cost else 1)
    return counted


CASES = (
    CountingCase("exact", full=lambda bound, keys, _: bound * keys),
    CountingCase("idempotent", full=lambda bound, keys, _: bound * keys, named=True),
    CountingCase("leased", {"counting": "leased"}, full=lambda bound, keys, _: bound * keys),
    CountingCase(
        "per-model",
        limit=lambda bound: {"kind": "per-model", "samples": bound},
        counted=lambda answered: _by(answered, lambda key, model, _: f"{key} {model}"),
        full=lambda bound, keys, models: bound * keys * models,
    ),
    CountingCase(
        "window",
        limit=lambda bound: {"kind": "window", "samples": bound, "seconds": 100_000},
        counted=lambda answered: _by(answered, lambda key, *_: key),
        full=lambda bound, keys, _: bound * keys,
    ),
    CountingCase(
        "global",
        limit=lambda bound: {"kind": "global", "samples": 5 * bound},
        counted=lambda answered: _by(answered, lambda *_: "all"),
        full=lambda bound, *_: 5 * bound,
    ),
    CountingCase(
        "weighted",
        limit=lambda bound: {"kind": "weighted", "units": 2 * bound, "costs": COSTS},
        counted=lambda answered: _by(answered, lambda key, *_: key, cost=True),
        full=lambda bound, keys, _: 2 * bound * keys,
    ),
    CountingCase(
        "decaying",
        limit=lambda bound: {"kind": "decaying", "decimals": 4, "every": max(1, bound // 4)},
        counted=lambda answered: _by(answered, lambda key, *_: key),
        full=lambda bound, keys, _: bound * keys,
    ),
    CountingCase(
        "colluding",
        limit=lambda bound: {"kind": "colluding", "samples": bound, "matches": 3},
        counted=lambda answered: _by(answered, lambda key, *_: key),
        alike=True,
    ),
)


@dataclass(frozen=True)
class CaseResult:
    """The result of one case, in samples where not said otherwise."""

    case: str
    clients: int
    keys: int
    answered: int
    spent: int
    """Samples spent by the keys' accounts."""
    bound: int | None
    """The most that all keys together could have had, in the limit's units."""
    counted: int
    """Count of the limit, or of the accounts, in the same units."""
    refused: int
    """Number of refused requests."""
    refunded: int
    exact: bool


def exactly_paid(
    accounts: Sequence[Mapping[str, Any]], answered: Mapping[str, int], statuses: Collection[int]
) -> bool:
    """Whether each account has spent the samples that its key had ``answered``, none holds anything, and no
    unforeseen status came."""
    return (
        all(each["spent"] == answered.get(each["id"], 0) for each in accounts)
        and not any(each["held"] or each["reserved"] for each in accounts)
        and set(statuses) <= {200, 429, 502}
    )


def exactly_counted(
    case: CountingCase, used: Mapping[str, int], answered: Answered, keys: int, models: int, bound: int
) -> bool:
    """Whether a limit, or the keys' accounts, have counted as ``used`` exactly the samples that the ``keys``
    had ``answered``, each in its own place, and all that ``bound`` allows."""
    counted = sum(used.values())
    right = case.full is None or counted == case.full(bound, keys, models)
    if case.counted is None:
        return right
    expected = case.counted(answered)
    if case.alike:  # groups have one account each
        return right and counted == sum(expected.values()) and len(used) == -(-keys // 5)
    return right and used == {name: units for name, units in expected.items() if units}


async def spend(
    place: LedgerTarget, case: CountingCase, *, clients: int, keys: int, bound: int, seed: int = 0
) -> CaseResult:
    """Have ``clients`` ask at once under ``case`` until ``keys`` have nothing left, and compare."""
    storm = _Storm(place, case, bound, seed)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:
        storm.session = session
        ids = await storm.prepare(keys)
        await asyncio.gather(*(storm.client(number, ids[number % keys]) for number in range(clients)))
        for id_ in ids:
            await storm.sweep(id_)
        return await storm.judge(ids, clients)


class _Storm:
    session: aiohttp.ClientSession

    def __init__(self, place: LedgerTarget, case: CountingCase, bound: int, seed: int) -> None:
        self.place, self.case, self.bound, self.seed = place, case, bound, seed
        self.run = secrets.token_hex(4)
        self.answered = Answered()
        self.statuses = Counter[int]()
        self.keys: dict[str, str] = {}
        self.pools: dict[str, NDArray[np.uint8]] = {}

    async def admin(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.place.operator}"}
        url = f"{self.place.proxies[0]}/admin{path}"
        async with self.session.request(method, url, json=body, headers=headers) as answer:
            answer.raise_for_status()
            return await answer.json()

    async def prepare(self, keys: int) -> list[str]:
        """Make the limit and the keys; returns their ids."""
        fields = dict(self.case.key)
        limited = self.case.limit is not None
        if self.case.limit is not None:
            await self.admin("PUT", f"/limits/{self.run}", self.case.limit(self.bound))
            fields["limits"] = [self.run]
        # Where a limit refuses, the budget must not; a limit that refuses nothing leaves it to the budget.
        budget = self.bound if not limited or self.case.name == "decaying" else None
        for number in range(keys):
            id_ = f"{self.run}-{number}"
            created = await self.admin("POST", "/keys", {"id": id_, "name": id_, "budget": budget, **fields})
            self.keys[id_] = created["key"]
            attack = number // 5 if self.case.alike else number
            pool = np.random.default_rng([self.seed, attack])
            self.pools[id_] = pool.integers(0, 256, (64, *self.place.shape), dtype=np.uint8)
        return list(self.keys)

    async def ask(
        self, id_: str, size: int, chosen: random.Random, model: str, endpoint: str
    ) -> tuple[int, bool]:
        """Ask for so many samples; returns the status, and whether a refusal says that waiting helps."""
        begin = chosen.randrange(64 - size)
        headers = {"Authorization": f"Bearer {self.keys[id_]}", "Content-Type": NPY, "Accept": NPY}
        if self.case.named:
            headers["Idempotency-Key"] = secrets.token_hex(8)
        url = f"{chosen.choice(self.place.proxies)}/v1/models/{model}/{endpoint}"
        body = encode_npy(self.pools[id_][begin : begin + size])
        async with self.session.post(url, data=body, headers=headers) as answer:
            await answer.read()
            self.statuses[answer.status] += 1
            if answer.status == 200:
                self.answered[id_, model, endpoint] += size
            return answer.status, "Retry-After" in answer.headers

    async def client(self, number: int, id_: str) -> None:
        """Ask in batches of every size, at every proxy, until nothing has been answered for long."""
        chosen = random.Random(self.seed * 1000 + number)
        refused = 0
        while refused < GIVE_UP:
            size, model = chosen.choice(SIZES), chosen.choice(self.place.models)
            status, _ = await self.ask(id_, size, chosen, model, chosen.choice(list(COSTS)))
            refused = refused + 1 if status == 429 else 0

    async def sweep(self, id_: str) -> None:
        """Ask for single samples of each model until they are refused for good."""
        chosen = random.Random(self.seed)
        for model in self.place.models:
            patience = 100  # a lease that another proxy holds comes back soon
            while patience:
                status, wait = await self.ask(id_, 1, chosen, model, "logits")
                if status == 429 and not (wait and self.case.limit is None):
                    break
                if status == 429:
                    patience -= 1
                    await asyncio.sleep(0.05)

    async def judge(self, ids: Sequence[str], clients: int) -> CaseResult:
        """Compare answers and ledger, once leases are settled."""
        for _ in range(100):
            accounts = [await self.admin("GET", f"/keys/{id_}") for id_ in ids]
            if not any(account["held"] or account["reserved"] for account in accounts):
                break
            await asyncio.sleep(0.05)
        total = sum(self.answered.values())
        spent = {account["id"]: account["spent"] for account in accounts}
        paid = exactly_paid(accounts, _by(self.answered, lambda key, *_: key), self.statuses)
        used = spent if self.case.limit is None else (await self.admin("GET", f"/limits/{self.run}"))["used"]
        sizes = len(ids), len(self.place.models)
        exact = paid and exactly_counted(self.case, used, self.answered, *sizes, self.bound)
        return CaseResult(
            self.case.name,
            clients,
            len(ids),
            total,
            sum(spent.values()),
            None if self.case.full is None else self.case.full(self.bound, *sizes),
            sum(used.values()),
            self.statuses[429],
            sum(account["refunded"] for account in accounts),
            exact,
        )
