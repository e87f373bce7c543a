"""Clients that ask as often as they are told to, and count what they get."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from dataclasses import dataclass, field

import aiohttp
import numpy as np

from leakrange.wire.tensors import NPY, encode_npy
from load.soak.standing import SIZE, Standing

__all__ = ["Clients", "Counts"]

BODIES = 64
NAMED = 10
"""Each so many-th request has an identity, whose answer the proxy keeps."""


@dataclass
class Counts:
    """Requests that were answered, those that failed by reason, and the seconds that the last ones took."""

    answered: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)


class Clients:
    """So many connections to the proxy, for as long as the block lasts."""

    def __init__(self, standing: Standing, connections: int) -> None:
        draw = np.random.default_rng(0)
        self._bodies = [
            encode_npy(draw.integers(0, 256, (1, SIZE, SIZE, 3), dtype=np.uint8)) for _ in range(BODIES)
        ]
        self._standing, self._connections = standing, connections
        self._numbers = itertools.count()
        self._run = f"{time.time_ns():x}"

    async def __aenter__(self) -> Clients:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections),
            headers={"Authorization": f"Bearer {self._standing.key}", "Content-Type": NPY, "Accept": NPY},
            timeout=aiohttp.ClientTimeout(total=60),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, seconds: float, rate: float | None = None) -> Counts:
        """Ask for so long: ``rate`` requests a second, as many as the connections allow where none is given.
        Turns that come while all connections are busy are left out, so that nothing piles up."""
        counts, begun = Counts(), time.perf_counter()
        turn = 0

        async def client() -> None:
            nonlocal turn
            while (now := time.perf_counter() - begun) < seconds:
                if rate is not None:
                    turn = max(turn + 1, int(now * rate))
                    if turn / rate >= seconds:
                        return
                    await asyncio.sleep(max(0.0, turn / rate - now))
                await self._once(counts)

        await asyncio.gather(*(client() for _ in range(self._connections)))
        return counts

    async def _once(self, counts: Counts) -> None:
        number = next(self._numbers)
        headers = {"Idempotency-Key": f"{self._run}-{number}"} if number % NAMED == 0 else {}
        begun = time.perf_counter()
        try:
            body = self._bodies[number % BODIES]
            async with self._session.post(self._standing.url, data=body, headers=headers) as answer:
                said = await answer.read()
                if answer.status == 200:
                    counts.answered += 1
                    counts.latencies.append(time.perf_counter() - begun)
                else:
                    counts.failures[f"HTTP {answer.status}: {said[:200].decode(errors='replace')}"] += 1
        except (aiohttp.ClientError, TimeoutError) as error:
            counts.failures[f"{type(error).__name__}: {error}"] += 1
