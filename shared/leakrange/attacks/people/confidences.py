"""Two ways to read a recognition's confidences: the k highest alone (FACELEAKS 7.1), and logarithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["log_confidences", "revealed_scores"]

SMALLEST = 1e-6
"""Lower confidences are raised to this one before the logarithm."""

Floats = NDArray[np.floating]


def revealed_scores(releases: Floats, k: int) -> NDArray[np.float64]:
    """The k highest scores (n, k) of each of releases (n, C), highest first, without their classes.

    Releases may be bare, or those of a ``top-k`` defence (``renormalise``, ``zero``). A class's covariance is
    then (k, k). With k = 1 and ``renormalise`` every release is 1, which reveals nothing. Raises
    `InvalidInput` unless 1 ≤ k ≤ C.
    """
    if releases.ndim != 2 or not 1 <= k <= releases.shape[1]:
        raise InvalidInput(f"releases {releases.shape} have no {k} highest scores")
    highest: NDArray[np.float64] = -np.sort(-np.asarray(releases, dtype=np.float64), axis=1)[:, :k]
    return highest


def log_confidences(releases: NDArray[np.floating]) -> NDArray[np.float64]:
    """The logarithms of a recognition's confidences (N, C).

    Confidences are mostly near 0 and 1, where they hardly distinguish images; their logarithms do.
    """
    logarithms: NDArray[np.float64] = np.log(np.maximum(releases, SMALLEST).astype(np.float64))
    return logarithms
