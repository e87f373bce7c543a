"""Distances between feature vectors, by which face verification decides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.schemas import Distance

__all__ = ["pair_distances", "unit_length"]


def unit_length(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Vectors (B, F) scaled to Euclidean length 1; a vector of zeros stays one."""
    wide = vectors.astype(np.float64)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    return (wide / np.where(length > 0, length, 1.0)).astype(np.float32)


def pair_distances(
    first: NDArray[np.floating[Any]], second: NDArray[np.floating[Any]], kind: Distance
) -> NDArray[np.float32]:
    """The distance (B,) of each row of ``first`` (B, F) to the same row of ``second`` (B, F).

    "euclidean": the norm of the difference, 0 or more (FACELEAKS, Section 3.3). "cosine": 1 - cos, in [0, 2];
    a vector of zeros is at 1 from all others.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    if kind == "euclidean":
        return np.asarray(np.linalg.norm(a - b, axis=1), dtype=np.float32)
    product = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine = np.einsum("bf,bf->b", a, b) / np.where(product > 0, product, 1.0)
    return np.asarray(1.0 - np.clip(cosine, -1.0, 1.0), dtype=np.float32)
