"""Shadow policies: computed on the same outputs as the policy that holds, counted, and never sent.

A shadow runs after the answer has been sent. Where it cannot keep up, requests are skipped and counted as
that; its errors are counted too, and reach no client.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Counter
from redis.asyncio import Redis
from redis.exceptions import RedisError

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.services.proxy.configuration import field, text
from leakrange.services.proxy.names import LedgerNames
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.services.proxy.snapshot import Binding
from leakrange.wire.tensors import NPY, npy_view, numeric_array, parse_json

MOST_WAITING = 64
MOST_BYTES = 64 * 2**20
"""Largest size of the bodies that all waiting shadows hold together."""
STORE_EVERY = 1.0
FIGURES = (
    "requests",
    "samples",
    "values",
    "changed",
    "decisions",
    "distance",
    "seconds",
    "failed",
    "skipped",
)

log = structlog.get_logger("leakrange.proxy.shadows")


@dataclass(frozen=True)
class ShadowPolicy:
    """A policy that is bound as a shadow."""

    binding: Binding
    policy: str
    chain: Chain

    @property
    def state(self) -> str:
        """What distinguishes its figures."""
        return f"{field(self.binding)}:{self.policy}:{self.chain.digest()[:16]}"


RequestFigures = Mapping[str, float]
"""Figures of one request, by their names in `FIGURES`."""


def compare(
    chain: Chain, media: str, clean: bytes | NDArray[Any], sent: bytes, context: ReleaseContext
) -> RequestFigures:
    """Figures of ``chain`` on the ``clean`` values, beside the values that were ``sent``.

    ``changed`` counts values that differ, ``decisions`` samples whose largest value is another one, and
    ``distance`` is the sum over samples of the Euclidean distance. ``seconds`` is the chain's CPU time.
    """
    values = clean if isinstance(clean, np.ndarray) else _values(media, clean)
    began = time.thread_time()
    shadow = chain.apply(values, context)
    seconds = time.thread_time() - began
    real = _values(media, sent)
    rows, others = shadow.reshape(len(shadow), -1), real.reshape(len(real), -1)
    decided = (rows.argmax(axis=1) != others.argmax(axis=1)).sum() if rows.shape[1] > 1 else 0
    return {
        "samples": len(rows),
        "values": rows.size,
        "changed": float((rows != others).sum()),
        "decisions": float(decided),
        "distance": float(np.linalg.norm(rows.astype(np.float64) - others, axis=1).sum()),
        "seconds": seconds,
    }


def _values(media: str, body: bytes) -> NDArray[Any]:
    return npy_view(body) if media == NPY else numeric_array(parse_json(body)["values"], "values")


class Shadows:
    """Runs shadows one at a time, and keeps their figures."""

    def __init__(self, redis: Redis, names: LedgerNames, registry: CollectorRegistry) -> None:
        self._redis, self._names = redis, names
        self._waiting: deque[tuple[ShadowPolicy, Callable[[], Awaitable[RequestFigures]], int]] = deque()
        self._held = 0
        """Bytes of the bodies of all waiting shadows, and of the running one."""
        self._counted: dict[str, dict[str, float]] = {}
        self._runner: asyncio.Task[None] | None = None
        self._figures = Counter(
            "leakrange_proxy_shadow",
            "Figures of shadow policies: requests, samples, values, changed values, decisions that differ, "
            "summed distance, CPU seconds, failed and skipped requests",
            ("policy", "figure"),
            registry=registry,
        )

    def follow(self, shadow: ShadowPolicy, work: Callable[[], Awaitable[RequestFigures]], held: int) -> None:
        """Schedule ``work``, which holds bodies of ``held`` bytes, and count its figures."""
        if len(self._waiting) >= MOST_WAITING or self._held + held > MOST_BYTES:
            self._count(shadow, {"skipped": 1})
        else:
            self._held += held
            self._waiting.append((shadow, work, held))
        if self._runner is None or self._runner.done():
            self._runner = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        stored = time.monotonic()
        while self._waiting or self._counted:
            while self._waiting:
                shadow, work, held = self._waiting.popleft()
                try:
                    self._count(shadow, {"requests": 1, **await work()})
                except Exception as error:  # a shadow never fails a request
                    log.warning("shadow failed", policy=shadow.policy, error=str(error)[:200])
                    self._count(shadow, {"failed": 1})
                del work
                self._held -= held
                await asyncio.sleep(0)  # requests come first
            await asyncio.sleep(0.05)
            if time.monotonic() - stored >= STORE_EVERY:
                stored = time.monotonic()
                with contextlib.suppress(RedisError, OSError):  # the next time
                    await self._store()

    def _count(self, shadow: ShadowPolicy, figures: RequestFigures) -> None:
        counted = self._counted.setdefault(shadow.state, dict.fromkeys(FIGURES, 0.0))
        for name, value in figures.items():
            counted[name] += value
            self._figures.labels(shadow.policy, name).inc(value)

    async def _store(self) -> None:
        counted, self._counted = self._counted, {}
        try:
            async with self._redis.pipeline(transaction=True) as pipeline:
                for state, figures in counted.items():
                    for name, value in figures.items():
                        if value:
                            pipeline.hincrbyfloat(self._names.shadow(state), name, value)
                await pipeline.execute()
        except (RedisError, OSError):
            for state, figures in counted.items():
                counts = self._counted.setdefault(state, dict.fromkeys(FIGURES, 0.0))
                for name, value in figures.items():
                    counts[name] += value
            raise

    async def figures(self, shadow: ShadowPolicy) -> dict[str, float]:
        """The figures of a shadow over all proxies; those of other proxies as of a second ago."""
        with redis_errors():
            await self._store()
            stored = await self._redis.hgetall(self._names.shadow(shadow.state))
        values = {text(name): float(value) for name, value in stored.items()}
        return {name: values.get(name, 0.0) for name in FIGURES}

    async def close(self) -> None:
        """Store the counts; waiting shadows are skipped."""
        if self._runner is not None:
            self._runner.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._runner
        with contextlib.suppress(RedisError, OSError):
            await self._store()
