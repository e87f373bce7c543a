"""Entropies: of outputs, the room they have to hide something (HBC Section 4.1, Fig. 8), of discrete columns
by counting, and what a classifier tells of a column, or leaves uncertain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.heads import parted

__all__ = [
    "entropy_bits",
    "entropy_histogram",
    "information_bound",
    "joint_entropy",
    "softmax",
    "surprise",
    "total_correlation",
]


def entropy_bits(soft: NDArray[np.floating], heads: Sequence[int] = ()) -> NDArray[np.float64]:
    """Shannon entropy of each row of soft outputs (N, Y): (N,), 0 to log2 Y; the sum over ``heads`` where
    there are several.

    Rows must lie on the simplex within 1e-3. Raises `ValueError` for logits or defended outputs that do not.
    0·log 0 is 0.
    """
    if len(heads) > 1:
        return np.asarray(np.sum([entropy_bits(part) for part in parted(soft, heads)], axis=0))
    values = np.asarray(soft, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("entropy needs finite soft outputs of shape (samples, classes)")
    if len(values) and (values.min() < -1e-3 or np.abs(values.sum(axis=1) - 1.0).max() > 1e-3):
        raise ValueError("entropy needs soft outputs: not negative, and adding up to 1 in every row")
    values = np.clip(values, 0.0, 1.0)
    logs = np.log2(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(-(values * logs).sum(axis=1) + 0.0)


def entropy_histogram(bits: NDArray[np.floating], classes: int, bins: int = 20) -> NDArray[np.int64]:
    """Counts (bins,) of entropies (N,) in equal bins from 0 to log2 ``classes``. Values that rounding took
    beyond the ends go to the end bins."""
    highest = float(np.log2(classes))
    counts, _ = np.histogram(np.clip(bits, 0.0, highest), bins=bins, range=(0.0, highest))
    return counts.astype(np.int64)


def softmax(logits: NDArray[np.floating], heads: Sequence[int] = ()) -> NDArray[np.float64]:
    """The softmax (N, C) of each row of ``logits`` (N, C), finite however large they are; of each of several
    ``heads`` by itself."""
    if len(heads) > 1:
        return np.concatenate([softmax(part) for part in parted(logits, heads)], axis=1)
    values = np.asarray(logits, dtype=np.float64)
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    soft: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return soft


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
