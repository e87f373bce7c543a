"""Clients that ask at a given rate, and count their answers."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from dataclasses import dataclass, field

import aiohttp
import numpy as np

from leakrange.load.soak.standing import SIZE, SoakParties
from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["Clients", "RequestCounts"]

BODIES = 64
NAMED = 10
"""Every so many-th request has an identity, whose answer the proxy keeps."""


@dataclass
class RequestCounts:
    """Numbers of answered requests and of failures by reason, and the seconds that the last requests took."""

    answered: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)


class Clients:
    """A number of connections to the proxy, for as long as the block lasts."""

    def __init__(self, standing: SoakParties, connections: int) -> None:
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

    async def ask(self, seconds: float, rate: float | None = None) -> RequestCounts:
        """Ask for so long: ``rate`` requests per second, or as many as the connections allow. Turns that come
        while all connections are busy are left out, so that nothing piles up."""
        counts, began = RequestCounts(), time.perf_counter()
        turn = 0

        async def client() -> None:
            nonlocal turn
            while (now := time.perf_counter() - began) < seconds:
                if rate is not None:
                    turn = max(turn + 1, int(now * rate))
                    if turn / rate >= seconds:
                        return
                    await asyncio.sleep(max(0.0, turn / rate - now))
                await self._once(counts)

        await asyncio.gather(*(client() for _ in range(self._connections)))
        return counts

    async def _once(self, counts: RequestCounts) -> None:
        number = next(self._numbers)
        headers = {"Idempotency-Key": f"{self._run}-{number}"} if number % NAMED == 0 else {}
        began = time.perf_counter()
        try:
            body = self._bodies[number % BODIES]
            async with self._session.post(self._standing.url, data=body, headers=headers) as answer:
                content = await answer.read()
                if answer.status == 200:
                    counts.answered += 1
                    counts.latencies.append(time.perf_counter() - began)
                else:
                    counts.failures[f"HTTP {answer.status}: {content[:200].decode(errors='replace')}"] += 1
        except (aiohttp.ClientError, TimeoutError) as error:
            counts.failures[f"{type(error).__name__}: {error}"] += 1
