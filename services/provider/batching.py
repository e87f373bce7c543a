"""Dynamic micro-batching: each batch takes everything that is waiting.

A lone request goes through the net at once. Requests that arrive meanwhile form the next batch, up to the cap
of the device. There is no timer, which would only delay a lone client.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leakrange.services.provider.metrics import ProviderMetrics
from leakrange.wire.errors import Unavailable

Samples = NDArray[Any]
Values = NDArray[np.float32]


class Net(Protocol):
    """The net of a batcher: maps samples (B, *shape) to float32 (B, N)."""

    @property
    def seconds_each(self) -> float:
        """The approximate number of seconds a sample takes."""

    def short(self, samples: int) -> bool:
        """Whether so many samples are few enough for `at_once`."""

    def at_once(self, samples: Samples) -> Values:
        """Compute the values; nothing else happens meanwhile."""

    async def apart(self, samples: Samples) -> Values:
        """Compute the values, while other things happen."""


TURNS = 8
"""Turns of the event loop between two passes in it: it accepts one new connection a turn."""


@dataclass(eq=False, slots=True)
class _Request:
    samples: Samples
    answer: asyncio.Future[Values]
    taken: int = 0
    done: int = 0
    values: Values | None = None


@dataclass(slots=True)
class _Part:
    """A part of a batch: ``count`` samples of ``request`` from ``start`` on."""

    request: _Request
    start: int
    count: int


class Batcher:
    """The queue of one model and release, worked off in batches of at most ``cap`` samples.

    Answers are given sample by sample. At most ``limit`` samples wait; a request that finds the queue empty
    is always accepted. A request of more than ``cap`` samples is cut, and its parts take turns with the other
    requests.
    """

    def __init__(
        self, net: Net, *, cap: int, limit: int, metrics: ProviderMetrics, model: str, release: str
    ) -> None:
        self._net, self._cap, self._limit = net, cap, limit
        self._queue: deque[_Request] = deque()
        self._waiting = 0
        self._working = False
        self._apart: asyncio.Task[None] | None = None
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
                retry_after=float(max(1, math.ceil(self._waiting * self._net.seconds_each))),
            )
        loop = asyncio.get_running_loop()
        request = _Request(samples, loop.create_future())
        self._count(len(samples))
        self._queue.append(request)
        if not self._working:
            self._working = True
            loop.call_soon(self._work)  # soon: after the others that have come by now are in the queue
        try:
            return await request.answer
        finally:
            self._count(-len(samples))

    def _count(self, samples: int) -> None:
        self._waiting += samples
        self._gauge.set(self._waiting)

    def _work(self) -> None:
        """Compute the next batch: now, or in a task if it takes long."""
        parts = self._take()
        if not parts:
            self._working = False
            return
        started = time.perf_counter()
        try:
            batch = _gathered(parts)
            if not self._net.short(len(batch)):
                self._apart = asyncio.create_task(self._wait(parts, batch))
                return
            self._end(parts, self._net.at_once(batch), started)
        except Exception as error:
            _fail(parts, error)
        self._look_round(TURNS)

    def _look_round(self, turns: int) -> None:
        """Continue the work, after so many turns of the event loop."""
        if turns:
            asyncio.get_running_loop().call_soon(self._look_round, turns - 1)
        else:
            self._work()

    async def _wait(self, parts: list[_Part], batch: Samples) -> None:
        started = time.perf_counter()
        try:
            self._end(parts, await self._net.apart(batch), started)
        except Exception as error:
            _fail(parts, error)
        self._work()

    def _end(self, parts: list[_Part], values: Values, started: float) -> None:
        self._seconds.observe(time.perf_counter() - started)
        self._batch_size.observe(len(values))
        self._samples.inc(len(values))
        self._hand_out(parts, values)

    def _take(self) -> list[_Part]:
        """Take waiting samples, up to the cap. The rest of a long request goes behind the others."""
        parts: list[_Part] = []
        room = self._cap
        unfinished: list[_Request] = []
        while self._queue and room:
            request = self._queue.popleft()
            if request.answer.done():  # given up, or failed in an earlier part
                continue
            count = min(room, len(request.samples) - request.taken)
            parts.append(_Part(request, request.taken, count))
            request.taken += count
            room -= count
            if request.taken < len(request.samples):
                unfinished.append(request)
        self._queue.extend(unfinished)
        return parts

    @staticmethod
    def _hand_out(parts: list[_Part], values: Values) -> None:
        place = 0
        for part in parts:
            request, answer = part.request, values[place : place + part.count]
            place += part.count
            request.done += part.count
            if part.count < len(request.samples):
                if request.values is None:
                    request.values = np.empty((len(request.samples), values.shape[1]), dtype=np.float32)
                request.values[part.start : part.start + part.count] = answer
                answer = request.values
            if request.done == len(request.samples) and not request.answer.done():
                request.answer.set_result(answer)


def _gathered(parts: list[_Part]) -> Samples:
    samples = [part.request.samples[part.start : part.start + part.count] for part in parts]
    return samples[0] if len(samples) == 1 else np.concatenate(samples)


def _fail(parts: list[_Part], error: Exception) -> None:
    """Give the error to all who wait; the queue continues."""
    for part in parts:
        if not part.request.answer.done():
            part.request.answer.set_exception(error)
