"""Membership inference from a recognition service that reveals only its k highest scores (FACELEAKS 7.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["revealed_scores"]

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
