"""The best place to cut a list of values in two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_cut", "most_accurate_threshold"]


def best_cut(ordered: NDArray[np.float64], quality: NDArray[Any]) -> tuple[int, float]:
    """Number of the ascending values ``ordered`` (V,) that lie below the best cut, and a threshold there.

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


def most_accurate_threshold(values: NDArray[np.floating], labels: NDArray[np.integer]) -> tuple[float, float]:
    """The τ for which "1 where value > τ, else 0" is right most often, and that accuracy.

    ``values`` (V,) and binary ``labels`` (V,). Every cut between two different values is tried, and the two
    beyond the ends (all 1: just below the least, all 0: the greatest); the lowest of equally good ones is
    taken.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order].astype(np.float64)
    ones = (labels[order] == 1).astype(np.int64)
    # with the k least values called 0: right are the zeros among them and the ones after them
    right = np.concatenate([[0], np.cumsum(1 - ones)]) + ones.sum() - np.concatenate([[0], np.cumsum(ones)])
    cut, tau = best_cut(ordered, right)
    return tau, float(right[cut] / len(ordered))
