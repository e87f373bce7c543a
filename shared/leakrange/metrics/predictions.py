"""The worth of class scores to users: do the highest three hold the class, and is a confidence true?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import WILSON, share_interval
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.outcomes import Predictions
from leakrange.metrics.registry import metric

__all__ = ["BINS", "calibration_error", "top_accuracy"]

BINS = 15


def top_accuracy(scores: NDArray[np.floating], truth: NDArray[np.integer], k: int) -> float:
    """Share of samples whose true class (V,) is among the k highest of their scores (V, N), in [0, 1]; of
    equal scores the first class wins. Raises `ValueError` for no samples, or classes out of range."""
    return float(_among(scores, truth, k).mean())


def _among(scores: NDArray[np.floating], truth: NDArray[np.integer], k: int) -> NDArray[np.bool_]:
    """Whether each true class is among the k highest (V,)."""
    _check(scores, truth)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.asarray((order == truth[:, None]).any(axis=1))


def calibration_error(
    probabilities: NDArray[np.floating], truth: NDArray[np.integer], bins: int = BINS
) -> float:
    """Expected calibration error of probabilities (V, N), in [0, 1]: the mean over samples of
    |accuracy − confidence| of their bin (Guo et al. 2017, Eq. 5).

    The confidence is the highest probability; bins are of equal width, each with its upper end. Raises
    `ValueError` as `top_accuracy`, and where values lie outside [0, 1].
    """
    _check(probabilities, truth)
    if not (probabilities.min() >= 0.0 and probabilities.max() <= 1.0 + 1e-6):
        raise ValueError("probabilities lie in [0, 1]")
    confidence = probabilities.max(axis=1).astype(np.float64)
    error = (probabilities.argmax(axis=1) == truth) - confidence
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return float(np.abs(np.bincount(index, weights=error, minlength=bins)).sum() / len(truth))


def _check(scores: NDArray[np.floating], truth: NDArray[np.integer]) -> None:
    if scores.ndim != 2 or truth.shape != scores.shape[:1] or not len(truth):
        raise ValueError(
            f"scores {scores.shape} and classes {truth.shape} must be (samples, N) and (samples,)"
        )
    if truth.min() < 0 or truth.max() >= scores.shape[1]:
        raise ValueError(f"classes must lie in 0..{scores.shape[1] - 1}")


def _known(outcome: Predictions) -> tuple[NDArray[np.floating], NDArray[np.integer]] | None:
    """Scores and truth of users whose class is known; None where there are none, or not a score for each
    class."""
    known = outcome.truth >= 0
    soft, truth = outcome.soft[known], outcome.truth[known]
    return (soft, truth) if len(truth) and truth.max() < soft.shape[1] else None


@metric(
    "top3", measures=Predictions, title="top-3 accuracy", unit="share", role="utility", rank=12,
    interval=WILSON, equation="the true class is among the three highest scores released",
)  # fmt: skip
def _top3(outcome: Predictions) -> Estimate | None:
    known = _known(outcome)
    if known is None or known[0].shape[1] <= 3:
        return None
    right = _among(*known, 3)
    group = None if outcome.group is None else outcome.group[outcome.truth >= 0]
    return Estimate.within(float(right.mean()), share_interval(right, group))


@metric(
    "calibration_error", measures=Predictions, title="calibration error", unit="score", role="utility",
    rank=13, higher=False,
    equation="expected calibration error of users' probabilities, 15 bins of equal width (Guo et al. 2017)",
)  # fmt: skip
def _calibration_error(outcome: Predictions) -> float | None:
    known = _known(outcome)
    try:
        return None if known is None else calibration_error(*known)
    except ValueError:
        return None  # of logits, or after noise
