"""Feature vectors for comparing faces, each image's kept for when it comes again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Vectors"]


class Vectors:
    """The vectors of one served model; ``run`` gives them (B, F) for uint8 images (B, H, W, C).

    The ``most`` last used are kept under their images' marks, so that an image that comes again, in another
    pair or from another key, costs no pass through the net.
    """

    def __init__(
        self,
        run: Callable[[NDArray[np.uint8]], Awaitable[NDArray[np.float32]]],
        *,
        most: int,
    ) -> None:
        self._run, self._most = run, most
        self._kept: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()

    async def of(self, images: NDArray[np.uint8], marks: list[bytes]) -> NDArray[np.float32]:
        """The vectors (B, F) of images (B, H, W, C) with those `image_marks`; `Unavailable` when full."""
        found: dict[bytes, NDArray[np.float32]] = {}
        missing: dict[bytes, int] = {}
        for place, mark in enumerate(marks):
            if (vector := self._kept.get(mark)) is not None:
                self._kept.move_to_end(mark)
                found[mark] = vector
            else:
                missing.setdefault(mark, place)
        if missing:
            vectors = await self._run(images[list(missing.values())])
            for mark, vector in zip(missing, vectors, strict=True):
                # A copy: a row would keep the whole batch alive.
                found[mark] = self._kept[mark] = vector.copy()
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return np.stack([found[mark] for mark in marks])
