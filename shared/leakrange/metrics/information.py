"""Entropies of discrete columns by counting, and the information of a classifier about a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["information_bound", "joint_entropy", "total_correlation"]

LEAST = 1e-12
"""Lower limit of probabilities whose logarithm is taken."""


def joint_entropy(*columns: NDArray[np.integer]) -> float:
    """Shannon entropy of the tuples that ``columns`` (N,) make, as they are distributed here; in nats, 0 to
    log N. No columns have entropy 0.

    So H(A|B) is ``joint_entropy(a, b) - joint_entropy(b)``, and I(A; B) the sum of both entropies without the
    joint one. Raises `ValueError` for columns that are empty or of different length.
    """
    if not columns:
        return 0.0
    if not len(columns[0]) or len({len(column) for column in columns}) > 1:
        raise ValueError("entropies need columns of one length, with something in them")
    _, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() + 0.0)


def total_correlation(*columns: NDArray[np.integer]) -> float:
    """Excess of the entropies of ``columns`` (N,) over their joint one, in nats; 0 where they are
    independent."""
    return sum(joint_entropy(column) for column in columns) - joint_entropy(*columns)


def information_bound(probabilities: NDArray[np.floating], truth: NDArray[np.integer]) -> float:
    """A lower bound on I(X; S) in bits, 0 to log2 S, by a classifier of S given X: H(S) less the mean of
    −log2 q(s|x) (Barber and Agakov 2003, Eq. 3), 0 where that is negative.

    probabilities: (N, S), rows that add up to 1; truth: (N,). It is the bound of these samples, so it holds
    for others as far as they are distributed alike. Raises `ValueError` for shapes or classes that do not
    fit.
    """
    if probabilities.ndim != 2 or truth.shape != probabilities.shape[:1] or not len(truth):
        raise ValueError(f"probabilities {probabilities.shape} and classes {truth.shape} do not match")
    if truth.min() < 0 or truth.max() >= probabilities.shape[1]:
        raise ValueError(f"classes must lie in 0..{probabilities.shape[1] - 1}")
    likelihoods = np.maximum(probabilities[np.arange(len(truth)), truth].astype(np.float64), LEAST)
    return max(0.0, float((joint_entropy(truth) + np.log(likelihoods).mean()) / np.log(2.0)))
