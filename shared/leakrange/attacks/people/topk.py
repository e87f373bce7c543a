"""What an attacker makes of a recognition service that reveals its k highest scores alone (FACELEAKS 7.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["revealed_scores", "zero_filled"]

Floats = NDArray[np.floating]


def revealed_scores(releases: Floats, k: int) -> NDArray[np.float64]:
    """Reading 1: the k highest scores (n, k) of each of releases (n, C), highest first; their classes are not
    looked at.

    Of releases which the ``top-k`` defence left in place (``renormalise``, ``zero``) or bare alike. A class's
    covariance is then (k, k); at k = 1 and renormalised every release is 1, which tells nothing.
    Raises `InvalidInput` unless 1 ≤ k ≤ C.
    """
    if releases.ndim != 2 or not 1 <= k <= releases.shape[1]:
        raise InvalidInput(f"releases {releases.shape} have no {k} highest scores")
    highest: NDArray[np.float64] = -np.sort(-np.asarray(releases, dtype=np.float64), axis=1)[:, :k]
    return highest


def zero_filled(scores: Floats, classes: NDArray[np.integer], count: int) -> NDArray[np.float64]:
    """Reading 2: confidence vectors (n, ``count``) with revealed ``scores`` (n, k) at their ``classes``
    (n, k) and 0 elsewhere.

    For services that answer with k names and scores. A softmax that ``top-k`` has been applied to in place is
    this already (``rest: zero``). Raises `InvalidInput` for classes out of range or named twice.
    """
    if scores.shape != classes.shape or scores.ndim != 2:
        raise InvalidInput(f"scores {scores.shape} and classes {classes.shape} do not match")
    if scores.size and not (classes.min() >= 0 and classes.max() < count):
        raise InvalidInput(f"classes must lie in 0..{count - 1}")
    if (np.diff(np.sort(classes, axis=1), axis=1) == 0).any():
        raise InvalidInput("a release names a class twice")
    filled = np.zeros((len(scores), count))
    np.put_along_axis(filled, classes.astype(np.intp), scores.astype(np.float64), axis=1)
    return filled
