"""What scores leave unknown of a class, when they are made into probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["surprise"]

FAR = 30.0
"""Scores lie at most so many of their deviations below the highest of their row."""
SHRINKAGE = 0.1
"""How much calibration is drawn to the classes' shares, as a precision of its factor and its offsets."""


def surprise(scores: NDArray[np.floating], truth: NDArray[np.integer]) -> NDArray[np.float64]:
    """−log₂ q(u|r) of each sample (V,), in bits, where q are the scores (V, k) made into probabilities by
    what they say of the other half of the samples.

    Probabilities are taken by their logarithms. A factor for all scores and an offset for each class are
    fitted to the true classes of one half, which the other half is judged by. So the mean is at least H(u|r)
    but for chance, whatever the scores are: a cross-entropy with any q that these samples did not choose is.
    Good calibration only brings it nearer. Scores of −∞ are as good as very low ones. Raises `ValueError` for
    fewer than two samples.
    """
    if scores.ndim != 2 or truth.shape != scores.shape[:1] or len(truth) < 2:
        raise ValueError(
            f"scores {scores.shape} and classes {truth.shape} must be of the same samples, two or more"
        )
    values = _below_highest(scores)
    half = np.random.default_rng(0).permutation(len(truth)) % 2
    said = np.empty(len(truth))
    for side in (0, 1):
        own, others = half == side, half != side
        soft = _calibrated(values[others], truth[others], values[own])
        said[own] = soft[np.arange(own.sum()), truth[own]]
    return -said / math.log(2.0)


def _below_highest(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Each row below its highest score, in deviations of all."""
    values = scores.astype(np.float64)
    if values.min() >= 0.0 and np.allclose(values.sum(axis=1), 1.0, atol=1e-3):
        values = np.log(np.maximum(values, np.finfo(np.float32).tiny))
    values = values - values.max(axis=1, keepdims=True)
    deviation = float(values[np.isfinite(values)].std()) or 1.0
    below: NDArray[np.float64] = np.maximum(values / deviation, -FAR)
    return below


def _calibrated(
    values: NDArray[np.float64], truth: NDArray[np.integer], others: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-probabilities of ``others`` (W, k) by the factor and offsets that fit the classes of ``values``."""
    from scipy.optimize import minimize  # here, since not all who import this module have SciPy
    from scipy.special import log_softmax

    classes = values.shape[1]
    truths = np.eye(classes)[truth]
    shares = np.log((truths.sum(axis=0) + 0.5) / (len(truth) + 0.5 * classes))

    def soft(given: NDArray[np.float64], of: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = log_softmax(given[0] * of + shares + given[1:], axis=1)
        return found

    def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        said = soft(given, values)
        wrong = np.exp(said) - truths
        slope = np.concatenate([[(wrong * values).sum()], wrong.sum(axis=0)]) + SHRINKAGE * given
        return float(SHRINKAGE * (given**2).sum() / 2 - (said * truths).sum()), slope

    best = minimize(loss, np.zeros(1 + classes), jac=True, method="L-BFGS-B")
    return soft(best.x, others)
