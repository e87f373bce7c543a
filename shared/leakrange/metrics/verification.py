"""Verification: is this the same person? Accuracy and threshold by cross-validation on pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.threshold import best_cut

__all__ = ["Verification", "best_threshold", "verification"]


@dataclass(frozen=True)
class Verification:
    """``accuracy`` of each fold's pairs under the threshold of the other folds (folds,), their mean and
    sample deviation, and ``threshold``, the mean of the folds' ones: the same person where a distance is at
    most that."""

    accuracy: NDArray[np.float64]
    threshold: float

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

    fold: (N,), which fold a pair belongs to; give all pairs of a person one fold, where that can be. With ten
    folds it is the protocol of Labeled Faces in the Wild (FACELEAKS Section 3.3). Raises `ValueError` for
    fewer than two folds, or distances that are not finite.
    """
    if distances.shape != same.shape or same.shape != fold.shape or distances.ndim != 1:
        raise ValueError(f"distances {distances.shape}, truth {same.shape}, folds {fold.shape} do not match")
    if not np.isfinite(distances).all():
        raise ValueError("distances must be finite")
    folds = np.unique(fold)
    if len(folds) < 2:
        raise ValueError("cross-validation needs two folds or more")
    accuracy, thresholds = [], []
    for held in folds:
        left = fold != held
        threshold = best_threshold(distances[left], same[left])
        thresholds.append(threshold)
        accuracy.append(float(((distances[~left] <= threshold) == same[~left]).mean()))
    return Verification(np.array(accuracy), float(np.mean(thresholds)))


def best_threshold(distances: NDArray[np.floating], same: NDArray[np.bool_]) -> float:
    """The threshold of the highest accuracy on these pairs: in the middle between two distances, or
    beyond them; the lowest of equals."""
    order = np.argsort(distances, kind="stable")
    ranked, truth = distances[order].astype(np.float64), same[order]
    # with the k nearest called the same, right are those of them that are, and the others that are not
    right = (
        np.concatenate([[0], np.cumsum(truth)]) + (~truth).sum() - np.concatenate([[0], np.cumsum(~truth)])
    )
    return best_cut(ranked, right)[1]
