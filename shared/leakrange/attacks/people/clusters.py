"""Pictures that a service's own answers put together, whoever they show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import grouped
from leakrange.wire.errors import InvalidInput

__all__ = ["clusters", "means"]


def clusters(releases: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """``releases`` (n, k) in ``count`` clusters, (n,), 0 .. count − 1: those whose angles are least, on
    average over all pairs of two clusters, are joined until so many are left.

    Raises `InvalidInput` for fewer releases than clusters, and for values that are not finite.
    """
    from sklearn.cluster import AgglomerativeClustering

    if releases.ndim != 2 or not 1 <= count <= len(releases):
        raise InvalidInput(f"releases {releases.shape} do not make {count} clusters")
    if not np.isfinite(releases).all():
        raise InvalidInput("a release holds values that are not finite")
    exact = np.asarray(releases, dtype=np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    made = AgglomerativeClustering(count, linkage="average")  # of unit vectors, distances order as angles do
    found: NDArray[np.int64] = made.fit_predict(exact / np.where(length > 0, length, 1.0)).astype(np.int64)
    return found


def means(vectors: NDArray[np.floating], cluster: NDArray[np.int64]) -> NDArray[np.float64]:
    """In place of each of ``vectors`` (n, d) the mean direction of its ``cluster`` (n,)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.asarray(vectors, dtype=np.float64) / np.where(length > 0, length, 1.0)
    found = np.empty_like(unit)
    for rows in grouped(cluster)[1]:
        found[rows] = unit[rows].mean(axis=0)
    return found
