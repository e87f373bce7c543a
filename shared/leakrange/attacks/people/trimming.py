"""The vectors of a class that resemble each other most, without those that were put there by mistake."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["left", "most_alike", "trimmed"]

STEPS = 20
"""The largest number of concentration steps; a handful settles it."""


def left(count: int, share: float) -> int:
    """How many of ``count`` are left without a ``share`` of them, which is rounded down."""
    return count - int(share * count)


def most_alike(vectors: NDArray[np.floating], count: int) -> NDArray[np.intp]:
    """Ascending rows of the ``count`` of ``vectors`` (m, k) that lie nearest to their own mean.

    From the ``count`` nearest to the median of each coordinate, the mean and the nearest to it are taken in
    turn until they stay: the concentration steps of a minimum covariance determinant (Rousseeuw and Van
    Driessen 1999), by Euclidean distances, since a class has fewer vectors than these have coordinates.
    Raises `InvalidInput` unless 1 ≤ ``count`` ≤ m.
    """
    if not 1 <= count <= len(vectors):
        raise InvalidInput(f"{count} of {len(vectors)} vectors cannot be kept")
    exact = np.asarray(vectors, dtype=np.float64)
    kept = _nearest(exact, np.median(exact, axis=0), count)
    for _ in range(STEPS):
        again = _nearest(exact, exact[kept].mean(axis=0), count)
        if (again == kept).all():
            break
        kept = again
    return kept


def trimmed(releases: NDArray[np.floating], people: int, share: float) -> NDArray[np.floating]:
    """Return ``releases`` (people · m, k), person by person, without the ``share`` of each person's releases
    that lies farthest apart, rounded down: (people · h, k)."""
    each = len(releases) // people
    count = left(each, share)
    if count == each:
        return releases
    by_person = releases.reshape(people, each, -1)
    return np.concatenate([vectors[most_alike(vectors, count)] for vectors in by_person])


def _nearest(vectors: NDArray[np.float64], centre: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    order = np.argsort(((vectors - centre) ** 2).sum(axis=1), kind="stable")
    return np.sort(order[:count])
