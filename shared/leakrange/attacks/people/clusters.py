"""Clusters of pictures by a service's own answers about them, whoever they show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import grouped
from leakrange.wire.errors import InvalidInput

__all__ = ["clusters", "means"]


def clusters(releases: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """The cluster (n,), 0 .. count − 1, of each of ``releases`` (n, k): clusters with the least angles, on
    average over all pairs of two clusters, are joined until ``count`` are left.

    Raises `InvalidInput` for fewer releases than clusters, and for values that are not finite.
    """
    from sklearn.cluster import AgglomerativeClustering

    if releases.ndim != 2 or not 1 <= count <= len(releases):
        raise InvalidInput(f"releases {releases.shape} do not make {count} clusters")
    if not np.isfinite(releases).all():
        raise InvalidInput("a release holds values that are not finite")
    exact = np.asarray(releases, dtype=np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    unit = exact / np.where(length > 0, length, 1.0)  # of unit vectors, distances order as angles do
    labels: NDArray[np.int64] = (
        AgglomerativeClustering(count, linkage="average").fit_predict(unit).astype(np.int64)
    )
    return labels


def means(vectors: NDArray[np.floating], cluster: NDArray[np.int64]) -> NDArray[np.float64]:
    """Replace each of ``vectors`` (n, d) by the mean direction of its ``cluster`` (n,)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.asarray(vectors, dtype=np.float64) / np.where(length > 0, length, 1.0)
    directions = np.empty_like(unit)
    for rows in grouped(cluster)[1]:
        directions[rows] = unit[rows].mean(axis=0)
    return directions
