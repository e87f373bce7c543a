"""Tuning the one number of the regularized attack (HBC Eq. 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.threshold import best_cut

__all__ = ["best_threshold"]


def best_threshold(values: NDArray[np.floating], labels: NDArray[np.integer]) -> tuple[float, float]:
    """The τ for which "1 where value > τ, else 0" is right most often, and that accuracy.

    ``values`` (V,) and binary ``labels`` (V,). Every cut between two different values is tried, and the two
    beyond the ends (all 1: just below the least, all 0: the greatest); of equally good ones the lowest is
    taken.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order].astype(np.float64)
    ones = (labels[order] == 1).astype(np.int64)
    # with the k least values called 0: right are the zeros among them and the ones after them
    right = np.concatenate([[0], np.cumsum(1 - ones)]) + ones.sum() - np.concatenate([[0], np.cumsum(ones)])
    cut, tau = best_cut(ordered, right)
    return tau, float(right[cut] / len(ordered))
