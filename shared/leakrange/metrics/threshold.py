"""Where to cut a list of values in two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_cut"]


def best_cut(ordered: NDArray[np.float64], quality: NDArray[Any]) -> tuple[int, float]:
    """How many of the ascending values ``ordered`` (V,) lie below the best cut, and a threshold there.

    ``quality`` (V + 1,), not negative, says how good it is to have k values below. Equal values are never
    parted; of equally good cuts the lowest is taken. The threshold lies halfway between two values, or just
    below the first, or on the last.
    """
    possible = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
    below = int(np.argmax(np.where(possible, quality, -1)))
    if below == 0:
        return 0, float(np.nextafter(ordered[0], -np.inf))
    if below == len(ordered):
        return below, float(ordered[-1])
    return below, float((ordered[below - 1] + ordered[below]) / 2)
