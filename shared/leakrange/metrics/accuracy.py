"""Accuracy, and the baselines to compare it with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["accuracy", "confusion_matrix", "majority_share", "nag"]


def accuracy(predicted: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Share of equal entries of two (N,) arrays, in [0, 1]: honesty of y, curiosity of s (HBC Section 2).

    Raises `ValueError` for arrays that are empty or of different length.
    """
    _same_length(predicted, labels)
    return float(np.mean(predicted == labels))


def confusion_matrix(
    predicted: NDArray[np.integer], labels: NDArray[np.integer], classes: int
) -> NDArray[np.int64]:
    """Counts (classes, classes): row the true class, column the predicted one. Raises `ValueError` for
    labels out of range."""
    _same_length(predicted, labels)
    for values in (predicted, labels):
        if values.min() < 0 or values.max() >= classes:
            raise ValueError(f"classes must lie in 0..{classes - 1}")
    flat = np.bincount(np.asarray(labels) * classes + np.asarray(predicted), minlength=classes * classes)
    return flat.reshape(classes, classes).astype(np.int64)


def majority_share(labels: NDArray[np.integer], classes: int) -> float:
    """Share of the most frequent of the ``classes`` in ``labels`` (N,): the accuracy of always guessing
    it."""
    if not len(labels):
        raise ValueError("no labels")
    return float(np.bincount(labels, minlength=classes).max() / len(labels))


def nag(attack: float, majority: float) -> float:
    """Normalised accuracy gain: (attack − majority) / (1 − majority), 0 where negative (PASS Eq. 13 with a
    perfect upper bound).

    Both arguments lie in [0, 1]. With a single class (majority 1) nothing can be gained, and the gain is 0.
    """
    if majority >= 1.0:
        return 0.0
    return max(0.0, (attack - majority) / (1.0 - majority))


def _same_length(predicted: NDArray[np.integer], labels: NDArray[np.integer]) -> None:
    if predicted.shape != labels.shape or labels.ndim != 1:
        raise ValueError(
            f"predictions {predicted.shape} and labels {labels.shape} must be vectors of one length"
        )
    if not len(labels):
        raise ValueError("no labels")
