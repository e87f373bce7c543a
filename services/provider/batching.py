"""Dynamic micro-batching: a batch is whatever is waiting.

A lone request goes through the net at once. Requests that arrive meanwhile form the next batch, up to the
cap of the device. There is no timer, which would only delay a lone client.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import Unavailable
from services.provider.metrics import ProviderMetrics

Samples = NDArray[Any]
Values = NDArray[np.float32]


@dataclass(eq=False, slots=True)
class _Request:
    samples: Samples
    answer: asyncio.Future[Values]
    taken: int = 0
    done: int = 0
    values: Values | None = None


@dataclass(slots=True)
class _Part:
    """``count`` samples of ``request`` from ``start`` on, as they lie one after the other in a batch."""

    request: _Request
    start: int
    count: int


class Batcher:
    """The queue of one model and release, worked off in batches of at most ``cap`` samples.

    ``run`` takes samples (B, *shape) and gives float32 (B, N), sample by sample. At most ``limit`` samples
    wait; a request that finds the queue empty is always taken. A request of more than ``cap`` samples is
    cut, and its parts take turns with the other requests.
    """

    def __init__(
        self,
        run: Callable[[Samples], Awaitable[Values]],
        *,
        cap: int,
        limit: int,
        metrics: ProviderMetrics,
        model: str,
        release: str,
    ) -> None:
        self._run, self._cap, self._limit = run, cap, limit
        self._queue: deque[_Request] = deque()
        self._waiting = 0
        self._worker: asyncio.Task[None] | None = None
        self._samples = metrics.samples.labels(model, release)
        self._batch_size = metrics.batch_size.labels(model, release)
        self._seconds = metrics.seconds.labels(model, release)
        self._gauge = metrics.waiting.labels(model, release)
        self._refused = metrics.refused.labels(model, release)

    async def answer(self, samples: Samples) -> Values:
        """The values (B, N) of ``samples``, in their order. Raises `Unavailable` where the queue is full."""
        if self._waiting and self._waiting + len(samples) > self._limit:
            self._refused.inc()
            raise Unavailable(
                f"{self._waiting} samples wait already; at most {self._limit}",
                hint="ask again later, or send fewer requests at once",
                retry_after=1.0,
            )
        request = _Request(samples, asyncio.get_running_loop().create_future())
        self._count(len(samples))
        self._queue.append(request)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        try:
            return await request.answer
        finally:
            self._count(-len(samples))

    def _count(self, samples: int) -> None:
        self._waiting += samples
        self._gauge.set(self._waiting)

    async def _work(self) -> None:
        while parts := self._take():
            begun = time.perf_counter()
            batch = [part.request.samples[part.start : part.start + part.count] for part in parts]
            try:
                values = await self._run(batch[0] if len(batch) == 1 else np.concatenate(batch))
            except Exception as error:  # those who wait must hear of it, and the queue goes on
                for part in parts:
                    if not part.request.answer.done():
                        part.request.answer.set_exception(error)
                continue
            self._seconds.observe(time.perf_counter() - begun)
            self._batch_size.observe(len(values))
            self._samples.inc(len(values))
            self._hand_out(parts, values)
        self._worker = None

    def _take(self) -> list[_Part]:
        """What is waiting, up to the cap. What is left of a long request goes behind the others."""
        parts: list[_Part] = []
        room = self._cap
        rest: list[_Request] = []
        while self._queue and room:
            request = self._queue.popleft()
            if request.answer.done():  # given up, or failed in an earlier part
                continue
            count = min(room, len(request.samples) - request.taken)
            parts.append(_Part(request, request.taken, count))
            request.taken += count
            room -= count
            if request.taken < len(request.samples):
                rest.append(request)
        self._queue.extend(rest)
        return parts

    @staticmethod
    def _hand_out(parts: list[_Part], values: Values) -> None:
        place = 0
        for part in parts:
            request, found = part.request, values[place : place + part.count]
            place += part.count
            request.done += part.count
            if part.count < len(request.samples):
                if request.values is None:
                    request.values = np.empty((len(request.samples), values.shape[1]), dtype=np.float32)
                request.values[part.start : part.start + part.count] = found
                found = request.values
            if request.done == len(request.samples) and not request.answer.done():
                request.answer.set_result(found)
