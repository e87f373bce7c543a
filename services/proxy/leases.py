"""Leased budgets: a proxy takes a block of a key's samples, answers from it, and settles in batches.

A block counts as held until it is settled or given back, so nothing is ever spent twice. The samples that a
proxy holds when it dies count as spent after a while, since answers may have been sent from them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

import structlog

from leakrange.services.proxy.redis_client import redis_errors
from leakrange.services.proxy.script_runner import Script, ScriptRunner
from leakrange.wire.errors import BudgetExhausted, Unavailable

LEASE = Script("lease", confirmed=True)
SETTLE_EVERY = 0.2
"""Seconds between settlements; a lease that was not used for so long is given back."""
VALID_SECONDS = 1.0
"""Seconds for which a lease is used after Redis last confirmed it and the configuration."""
FIRST_BLOCK, LARGEST_BLOCK = 16, 4096
"""First and largest number of samples that are taken beyond the need of a request: never more than an eighth
of the free ones."""

log = structlog.get_logger("leakrange.proxy")


class StaleLease(Exception):
    """The configuration has changed since the caller read it; nothing was charged."""


@dataclass
class Lease:
    """The part of one key's samples that this process holds."""

    key_id: str
    free: int = 0
    """Samples that are held, and not used."""
    used: int = 0
    """Samples that were used since the last settlement; ``requests`` and ``refunded`` likewise."""
    requests: int = 0
    refunded: int = 0
    block: int = FIRST_BLOCK
    """Number of samples to hold, by the recent use."""
    recent: int = 0
    """Samples used since the last tick."""
    limit: int | None = None
    elsewhere: int = 0
    """Samples that were free at Redis after the last message."""
    version: str = ""
    valid_until: float = 0.0
    number: int = 0
    unanswered: tuple[Any, ...] | None = None
    """The message whose reply was lost. It is sent again before any other: Redis carries it out once."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0

    def valid(self, version: str) -> bool:
        """Whether it may be used under that configuration, now."""
        return self.version == version and time.monotonic() < self.valid_until

    @property
    def remaining(self) -> int:
        """The key's free samples, as far as this process knows."""
        return self.elsewhere + self.free

    def take(self, samples: int) -> None:
        """Use ``samples`` of the free ones."""
        self.free -= samples
        self.used += samples
        self.recent += samples
        self.requests += 1

    def give(self, samples: int) -> bool:
        """Undo a use that is not settled yet; False where it is."""
        if self.used < samples:
            return False
        self.free += samples
        self.used -= samples
        self.requests -= 1
        self.refunded += samples
        return True

    def forget(self) -> None:
        """Drop the lease after Redis has ended it: the held samples are spent, or the account is gone."""
        self.free = self.used = self.requests = self.refunded = 0
        self.valid_until = 0.0


class Leases:
    """The leases of one proxy process. After ``hold`` seconds without a message from it, its held samples are
    spent."""

    def __init__(self, scripts: ScriptRunner, process: str, hold: float) -> None:
        self._scripts, self._process, self._hold = scripts, process, round(hold * 1000)
        self._leases: dict[str, Lease] = {}
        self._ticking: asyncio.Task[None] | None = None

    def holds(self, key_id: str) -> bool:
        """Whether a usable sample of the key is held."""
        lease = self._leases.get(key_id)
        return lease is not None and lease.free > 0

    async def charge(self, key_id: str, version: str, samples: int) -> Lease:
        """Use ``samples`` of the key. Asks Redis only where the lease has too few, or is not valid.

        Raises `StaleLease`, `BudgetExhausted`, or `Unavailable`.
        """
        lease = self._leases.get(key_id)
        if lease is None:
            lease = self._leases[key_id] = Lease(key_id)
            if self._ticking is None or self._ticking.done():
                self._ticking = asyncio.get_running_loop().create_task(self._tick())
        if lease.free >= samples and lease.valid(version):
            lease.take(samples)
            return lease
        lease.waiting += 1  # so that it is not forgotten meanwhile
        try:
            async with lease.lock:
                while not (lease.free >= samples and lease.valid(version)):
                    await self._take_more(lease, version, samples)
                lease.take(samples)
        finally:
            lease.waiting -= 1
        return lease

    async def _take_more(self, lease: Lease, version: str, samples: int) -> None:
        if not lease.valid(version):  # the budget may be another one: begin anew
            usable, returned = 0, lease.free
        else:
            usable, returned = lease.free, 0
            lease.block = min(2 * lease.block, LARGEST_BLOCK)
        lease.free = 0  # others wait, so that a large request has its turn
        try:
            outcome, unspent = await self._send(
                lease, version, returned, samples - usable, lease.block, usable=usable
            )
        finally:
            lease.free += usable
        if outcome in ("gone", "unknown"):
            lease.forget()
        if outcome in ("stale", "unknown"):
            raise StaleLease
        if outcome == "exhausted":
            raise self._exhausted(lease, samples, unspent)

    async def _send(
        self, lease: Lease, version: str, back: int, need: int = 0, want: int = 0, usable: int = 0
    ) -> tuple[str, int]:
        """Settle, and ask for more; ``back`` and ``usable`` have left the free samples already. Returns what
        Redis makes of it, and the number of samples that might become free elsewhere. Needs the lease's lock.
        Raises `Unavailable`.
        """
        if lease.unanswered is not None:
            try:
                outcome, _ = await self._deliver(lease)
            except BaseException:  # whoever waited may have gone, too
                lease.free += back  # to be given back with the next message
                raise
            if outcome in ("gone", "unknown"):
                return outcome, 0
        lease.number += 1
        counts = lease.used, lease.requests, lease.refunded
        lease.unanswered = (version, lease.number, *counts, back, lease.free + usable, need, want)
        lease.used = lease.requests = lease.refunded = 0
        return await self._deliver(lease)

    async def _deliver(self, lease: Lease) -> tuple[str, int]:
        assert lease.unanswered is not None
        sent, version = time.monotonic(), lease.unanswered[0]
        with redis_errors():
            current, (reply, *rest) = await self._scripts.on_account(
                LEASE, lease.key_id, version, self._process, *lease.unanswered[1:], self._hold
            )
        lease.unanswered = None
        outcome = reply.decode()
        if not current and outcome not in ("gone", "unknown"):
            outcome = "stale"
        if outcome in ("gone", "unknown"):
            return outcome, 0
        lent, limit, elsewhere, unspent = rest
        lease.free += lent
        lease.limit, lease.elsewhere = limit, max(0, elsewhere)
        lease.version, lease.valid_until = version, 0.0 if outcome == "stale" else sent + VALID_SECONDS
        return outcome, unspent

    def _exhausted(self, lease: Lease, samples: int, unspent: int) -> BudgetExhausted:
        left = max(0, lease.remaining)
        limit, elsewhere = str(lease.limit or 0), max(0, unspent - lease.elsewhere)
        return BudgetExhausted(
            f"{samples} samples asked, {left} remain"
            + (f" ({elsewhere} are in flight or held by other proxies)" if elsewhere else ""),
            headers={"RateLimit-Limit": limit, "RateLimit-Remaining": str(left)},
            retry_after=1.0 if unspent + lease.free >= samples else None,
            asked=samples,
            remaining=left,
        )

    async def _tick(self) -> None:
        while self._leases:
            await asyncio.sleep(SETTLE_EVERY)
            await asyncio.gather(*(self._settle(lease) for lease in list(self._leases.values())))

    async def _settle(self, lease: Lease, *, last: bool = False) -> None:
        """Report the used samples to Redis, and adapt the held ones to them. An idle lease is given back."""
        if lease.lock.locked() and not last:
            return  # who has it is settling
        async with lease.lock:
            recent, lease.recent = lease.recent, 0
            idle = last or recent == 0 or not lease.valid(lease.version)
            if not idle:
                lease.block = min(max(FIRST_BLOCK, 2 * recent), LARGEST_BLOCK)
            back = lease.free if idle else max(0, lease.free - lease.block)
            if back or lease.used or lease.refunded or lease.requests or lease.unanswered or not idle:
                lease.free -= back
                want = 0 if idle else max(0, lease.block - lease.free)
                try:
                    outcome, _ = await self._send(lease, lease.version, back, 0, want)
                except Unavailable:
                    return  # the next tick says it again
                if outcome in ("gone", "unknown"):
                    lease.forget()
            if idle and not (lease.free or lease.used or lease.waiting):
                self._leases.pop(lease.key_id, None)

    async def close(self) -> None:
        """Settle and give back everything; no charge may follow."""
        if self._ticking is not None:
            self._ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticking
        # Twice: the reply to a message that was on its way may bring samples, to give back as well.
        for _ in range(2):
            await asyncio.gather(*(self._settle(lease, last=True) for lease in list(self._leases.values())))
        if lost := [lease.key_id for lease in self._leases.values()]:
            log.warning("leases could not be settled; what they hold counts as spent", keys=lost[:20])
