"""What a student service has computed of an image, kept for when it comes again."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Vectors"]

Vector = NDArray[np.float32]


class Vectors:
    """The vectors (features, or confidences) of one served model; ``run`` gives them (B, F) for uint8 images
    (B, H, W, C).

    The ``most`` last used are kept under their images' marks, so that an image that comes again, in another
    pair or from another key, costs no pass through the net; nor does one that is on its way already.
    """

    def __init__(
        self, run: Callable[[NDArray[np.uint8]], Awaitable[NDArray[np.float32]]], *, most: int
    ) -> None:
        self._run, self._most = run, most
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()
        self._running: dict[bytes, asyncio.Task[dict[bytes, Vector]]] = {}

    async def of(self, images: NDArray[np.uint8], marks: list[bytes]) -> NDArray[np.float32]:
        """The vectors (B, F) of images (B, H, W, C) with those `image_marks`; `Unavailable` when full."""
        found: dict[bytes, Vector] = {}
        missing: dict[bytes, int] = {}
        awaited: set[asyncio.Task[dict[bytes, Vector]]] = set()
        for place, mark in enumerate(marks):
            if (vector := self._kept.get(mark)) is not None:
                self._kept.move_to_end(mark)
                found[mark] = vector
            elif (running := self._running.get(mark)) is not None:
                awaited.add(running)
            else:
                missing.setdefault(mark, place)
        if missing:
            task = asyncio.create_task(self._fetch(images[list(missing.values())], list(missing)))
            self._running.update(dict.fromkeys(missing, task))
            awaited.add(task)
        for task in awaited:
            # Shielded: others may wait for it, even if whoever asked first has gone away.
            found |= await asyncio.shield(task)
        return np.stack([found[mark] for mark in marks])

    async def _fetch(self, images: NDArray[np.uint8], marks: list[bytes]) -> dict[bytes, Vector]:
        try:
            # Copies: a row would keep its whole batch alive.
            vectors = [vector.copy() for vector in await self._run(images)]
        finally:
            for mark in marks:
                del self._running[mark]
        fetched = dict(zip(marks, vectors, strict=True))
        self._kept.update(fetched)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return fetched
