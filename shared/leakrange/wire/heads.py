"""Several attributes in one vector of class scores: a head for each, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["answers", "parted"]

N = TypeVar("N", bound=np.generic)


def parted(values: NDArray[N], heads: Sequence[int]) -> list[NDArray[N]]:
    """The scores (B, N) of each head, where ``heads`` are their numbers of classes; without them, there is
    one head."""
    return np.split(values, np.cumsum(heads, dtype=int)[:-1], axis=1)


def answers(values: NDArray[np.floating], heads: Sequence[int]) -> NDArray[np.int64]:
    """Return the class of the greatest score, the first if equal: (B,) of one head, (B, A) of several."""
    classes = [part.argmax(axis=1).astype(np.int64) for part in parted(values, heads)]
    return classes[0] if len(classes) == 1 else np.stack(classes, axis=1)
