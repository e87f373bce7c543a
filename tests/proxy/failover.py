"""A failover of the ledger while many clients ask: is everything paid that was answered, and nothing else?

The clients' answers are counted here. A request that ended in 503, or without an answer, is uncertain: its
samples may be spent or not. So each account has to have spent at least what was answered, and at most what
was answered or is uncertain.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import signal
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import aiohttp
import numpy as np

from leakrange.load.exactness import LedgerTarget
from leakrange.services.proxy.names import LedgerNames
from leakrange.wire.tensors import NPY, encode_npy
from tests.proxy.ledger_servers import RedisProcess, RedisServers

__all__ = ["FailoverFigures", "fail_over"]

KINDS = ("exact", "idempotent", "leased", "limited")
BUDGET = 10**9
BEFORE = 1.0
"""Seconds of load before the master goes."""

SETTLED = 20.0
"""Seconds within which leases are settled, and what was reserved has come back."""


@dataclass(frozen=True)
class FailoverFigures:
    """What came of it, in samples where not said otherwise."""

    answered: int
    uncertain: int
    spent: int
    unpaid: int
    """Answered, and not spent: the sum over accounts and limits that lack some."""
    overpaid: int
    """Spent, and neither answered nor uncertain, under leased budgets aside."""
    lost: int
    """The same under leased budgets, where what a proxy held may count as spent."""
    silence: float
    """Seconds for which the key that waited longest had no answer."""
    others: float
    """The same among keys whose master went on; 0 where there are none."""
    unforeseen: tuple[int, ...]
    """Statuses other than 200 and 503."""


async def fail_over(
    place: LedgerTarget, servers: RedisServers, act: signal.Signals, *, clients: int = 64, keys: int = 24
) -> FailoverFigures:
    """Send the master of the first key a signal while ``clients`` ask, and compare once another one has taken
    over. Who is held by SIGSTOP goes on then, as a master that was cut off and believes itself one."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(20)) as session:
        drill = _Drill(place, servers, session)
        await drill.prepare(keys)
        old = await asyncio.to_thread(servers.master, drill.account_of(0))
        concerned = [
            number
            for number in range(keys)
            if await asyncio.to_thread(servers.master, drill.account_of(number)) == old
        ]
        asking = [asyncio.create_task(drill.client(number, number % keys)) for number in range(clients)]
        await asyncio.sleep(BEFORE)
        old.signal(act)
        await asyncio.to_thread(_succeeded, servers, drill.account_of(0), old)
        if act == signal.SIGSTOP:
            old.signal(signal.SIGCONT)
        await drill.answered_again(time.monotonic())
        drill.over = True
        await asyncio.gather(*asking)
        return await drill.judge(concerned)


def _succeeded(servers: RedisServers, key: str, old: RedisProcess) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            servers.master(key, but=old)
            return
        except RuntimeError:
            time.sleep(0.02)
    raise RuntimeError("no other master took over")


class _Drill:
    def __init__(self, place: LedgerTarget, servers: RedisServers, session: aiohttp.ClientSession) -> None:
        self.place, self.session, self.over = place, session, False
        self.names = LedgerNames("cluster" in servers.url.partition(":")[0])
        self.run = secrets.token_hex(4)
        self.keys: list[str] = []
        self.answered, self.uncertain, self.unforeseen = Counter[int](), Counter[int](), Counter[int]()
        self.times: defaultdict[int, list[float]] = defaultdict(list)

    def account_of(self, number: int) -> str:
        return self.names.account(f"{self.run}-{number}")

    async def admin(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.place.operator}"}
        url = f"{self.place.proxies[0]}/admin{path}"
        until = time.monotonic() + 30
        while True:
            async with self.session.request(method, url, json=body, headers=headers) as answer:
                if answer.status != 503 or time.monotonic() > until:
                    answer.raise_for_status()
                    return await answer.json()
            await asyncio.sleep(0.1)

    async def prepare(self, keys: int) -> None:
        """Make a limit for all of its kind, and the keys, a quarter of each kind."""
        await self.admin("PUT", f"/limits/{self.run}", {"kind": "global", "samples": BUDGET})
        more: dict[str, dict[str, Any]] = {
            "leased": {"counting": "leased"},
            "limited": {"limits": [self.run]},
        }
        for number in range(keys):
            body = {"id": f"{self.run}-{number}", "name": "drill", "budget": BUDGET}
            created = await self.admin("POST", "/keys", body | more.get(KINDS[number % 4], {}))
            self.keys.append(created["key"])

    async def client(self, number: int, key: int) -> None:
        """Ask at every proxy in turn; a client that is refused pauses shortly."""
        chosen = random.Random(number)
        while not self.over:
            samples = chosen.randint(1, 3)
            headers = {"Authorization": f"Bearer {self.keys[key]}", "Content-Type": NPY, "Accept": NPY}
            if KINDS[key % 4] == "idempotent":
                headers["Idempotency-Key"] = secrets.token_hex(8)
            url = f"{chosen.choice(self.place.proxies)}/v1/models/{self.place.models[0]}/logits"
            body = encode_npy(np.zeros((samples, *self.place.shape), dtype=np.uint8))
            try:
                async with self.session.post(url, data=body, headers=headers) as answer:
                    await answer.read()
                    status = answer.status
            except (aiohttp.ClientError, TimeoutError):
                status = 503
            if status == 200:
                self.answered[key] += samples
                self.times[key].append(time.monotonic())
                continue
            self.uncertain[key] += samples
            if status != 503:
                self.unforeseen[status] += 1
            await asyncio.sleep(0.02)

    async def answered_again(self, since: float) -> None:
        """Return once every key has been answered again, at the latest after half a minute."""
        while time.monotonic() < since + 30 and any(  # noqa: ASYNC110 - the clients set the times
            not times or times[-1] < since for times in (self.times[key] for key in range(len(self.keys)))
        ):
            await asyncio.sleep(0.1)

    async def judge(self, concerned: list[int]) -> FailoverFigures:
        """Compare answers and ledger, once leases are settled and reservations given back."""
        until = time.monotonic() + SETTLED
        while True:
            every = {each["id"]: each for each in (await self.admin("GET", "/keys"))["keys"]}
            accounts = [every[f"{self.run}-{key}"] for key in range(len(self.keys))]
            if not any(each["held"] or each["reserved"] for each in accounts) or time.monotonic() > until:
                break
            await asyncio.sleep(0.2)
        limited = [key for key in range(len(self.keys)) if KINDS[key % 4] == "limited"]
        used = (await self.admin("GET", f"/limits/{self.run}"))["used"].get("all", 0)
        counted = [
            (each["spent"], self.answered[key], self.uncertain[key]) for key, each in enumerate(accounts)
        ]
        over = [max(0, spent - answered - uncertain) for spent, answered, uncertain in counted]
        lost = sum(each for key, each in enumerate(over) if KINDS[key % 4] == "leased")
        counted.append(
            (used, *(sum(each[key] for key in limited) for each in (self.answered, self.uncertain)))
        )
        return FailoverFigures(
            self.answered.total(),
            self.uncertain.total(),
            sum(account["spent"] for account in accounts),
            sum(max(0, answered - spent) for spent, answered, _ in counted),
            sum(over) - lost + max(0, counted[-1][0] - sum(counted[-1][1:])),
            lost,
            self._silence(concerned),
            self._silence([key for key in range(len(self.keys)) if key not in concerned]),
            tuple(sorted(self.unforeseen)),
        )

    def _silence(self, keys: list[int]) -> float:
        gaps = [b - a for key in keys for a, b in zip(self.times[key], self.times[key][1:], strict=False)]
        return round(max(gaps, default=0.0), 2)
