"""Uncertainty about a class that remains once scores are turned into probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["surprise"]

FAR = 30.0
"""Largest distance of a score from the highest of its row, in deviations of all scores."""
SHRINKAGE = 0.1
"""Precision of the prior that pulls the calibration's factor and offsets towards the classes' shares."""


def surprise(scores: NDArray[np.floating], truth: NDArray[np.integer]) -> NDArray[np.float64]:
    """−log₂ q(u|r) of each sample (V,), in bits, where q are the scores (V, k) turned into probabilities.

    Each half of the samples is judged by a calibration that was fitted to the other half: one factor for all
    scores, and an offset for each class. A cross-entropy with a q that these samples did not choose is at
    least H(u|r), so the mean is at least that but for chance, whatever the scores are. Good calibration only
    brings it nearer. Scores of −∞ count as very low ones. Raises `ValueError` for fewer than two samples.
    """
    if scores.ndim != 2 or truth.shape != scores.shape[:1] or len(truth) < 2:
        raise ValueError(
            f"scores {scores.shape} and classes {truth.shape} must be of the same samples, two or more"
        )
    values = _below_highest(scores)
    half = np.random.default_rng(0).permutation(len(truth)) % 2
    log_q = np.empty(len(truth))
    for side in (0, 1):
        judged, others = half == side, half != side
        soft = _calibrated(values[others], truth[others], values[judged])
        log_q[judged] = soft[np.arange(judged.sum()), truth[judged]]
    return -log_q / math.log(2.0)


def _below_highest(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Distance of each score below the highest of its row, in deviations of all scores."""
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

    def log_q(weights: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        log_probabilities: NDArray[np.float64] = log_softmax(
            weights[0] * scores + shares + weights[1:], axis=1
        )
        return log_probabilities

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        fitted = log_q(weights, values)
        wrong = np.exp(fitted) - truths
        slope = np.concatenate([[(wrong * values).sum()], wrong.sum(axis=0)]) + SHRINKAGE * weights
        return float(SHRINKAGE * (weights**2).sum() / 2 - (fitted * truths).sum()), slope

    best = minimize(loss, np.zeros(1 + classes), jac=True, method="L-BFGS-B")
    return log_q(best.x, others)
