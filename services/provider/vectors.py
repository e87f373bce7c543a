"""A cache of the vectors that a student service has computed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class Vectors:
    """The vectors (features, or confidences) of one served model; ``run`` gives them (B, F) for samples (B,
    *shape).

    The ``most`` last used are kept under their samples' marks. So a sample that comes again, in another pair
    or with another key, costs no pass through the net; nor does one whose pass is running.
    """

    def __init__(self, run: Callable[[NDArray[Any]], Awaitable[NDArray[np.float32]]], *, most: int) -> None:
        self._run, self._most = run, most
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()
        self._running: dict[bytes, asyncio.Task[dict[bytes, Vector]]] = {}

    async def of(self, samples: NDArray[Any], marks: list[bytes]) -> NDArray[np.float32]:
        """The vectors (B, F) of samples (B, *shape) with those `sample_marks`; `Unavailable` when full."""
        vectors: dict[bytes, Vector] = {}
        missing: dict[bytes, int] = {}
        awaited: set[asyncio.Task[dict[bytes, Vector]]] = set()
        for place, mark in enumerate(marks):
            if (vector := self._kept.get(mark)) is not None:
                self._kept.move_to_end(mark)
                vectors[mark] = vector
            elif (running := self._running.get(mark)) is not None:
                awaited.add(running)
            else:
                missing.setdefault(mark, place)
        if missing:
            task = asyncio.create_task(self._fetch(samples[list(missing.values())], list(missing)))
            self._running.update(dict.fromkeys(missing, task))
            awaited.add(task)
        for task in awaited:
            # Shielded: others may wait for it, even if whoever asked first has gone away.
            vectors |= await asyncio.shield(task)
        return np.stack([vectors[mark] for mark in marks])

    async def _fetch(self, samples: NDArray[Any], marks: list[bytes]) -> dict[bytes, Vector]:
        try:
            # Copies: a row would keep its whole batch alive.
            vectors = [vector.copy() for vector in await self._run(samples)]
        finally:
            for mark in marks:
                del self._running[mark]
        fetched = dict(zip(marks, vectors, strict=True))
        self._kept.update(fetched)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return fetched
