"""Verification: is this the same person? Distances of features, and accuracy and threshold by cross-
validation on pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.roc import most_accurate_threshold
from leakrange.wire.schemas import Distance

__all__ = ["Verification", "pair_distances", "unit_length", "verification"]


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


@dataclass(frozen=True)
class Verification:
    """Accuracies of verification: ``accuracy`` of each fold's pairs under the threshold of the other folds
    (folds,), and ``threshold``, the mean of the folds' thresholds. A pair is of the same person where its
    distance is at most that. ``right`` (N,): the pairs that were told right."""

    accuracy: NDArray[np.float64]
    threshold: float
    right: NDArray[np.bool_]

    @property
    def mean(self) -> float:
        """Mean accuracy, in [0, 1]."""
        return float(self.accuracy.mean())

    @property
    def deviation(self) -> float:
        """Sample deviation of the folds' accuracies."""
        return float(self.accuracy.std(ddof=1))


def verification(
    distances: NDArray[np.floating], same: NDArray[np.bool_], fold: NDArray[np.integer]
) -> Verification:
    """Cross-validate a threshold on ``distances`` (N,) of pairs that are of the ``same`` person or not (N,).

    fold: (N,), the fold of each pair; give all pairs of a person one fold, where that can be. With ten folds
    it is the protocol of Labeled Faces in the Wild (FACELEAKS Section 3.3). Raises `ValueError` for fewer
    than two folds, or distances that are not finite.
    """
    if distances.shape != same.shape or same.shape != fold.shape or distances.ndim != 1:
        raise ValueError(f"distances {distances.shape}, truth {same.shape}, folds {fold.shape} do not match")
    if not np.isfinite(distances).all():
        raise ValueError("distances must be finite")
    folds = np.unique(fold)
    if len(folds) < 2:
        raise ValueError("cross-validation needs two folds or more")
    accuracy, thresholds = [], []
    right = np.zeros(len(same), dtype=bool)
    for held in folds:
        others = fold != held
        threshold, _ = most_accurate_threshold(distances[others], ~same[others])
        thresholds.append(threshold)
        right[~others] = (distances[~others] <= threshold) == same[~others]
        accuracy.append(float(right[~others].mean()))
    return Verification(np.array(accuracy), float(np.mean(thresholds)), right)
