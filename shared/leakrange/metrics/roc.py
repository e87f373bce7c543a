"""ROC curves, the area below them, and the best place to cut scores in two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RocCurve",
    "auc",
    "best_cut",
    "mean_auc",
    "mean_roc_curve",
    "most_accurate_threshold",
    "one_against_rest",
    "roc_curve",
    "tpr_at_fpr",
]


@dataclass(frozen=True)
class RocCurve:
    """False and true positive rates in [0, 1], ascending from (0, 0) to (1, 1), no point twice. A curve of
    one class has at most one point per distinct score."""

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]


def roc_curve(
    scores: NDArray[np.floating], positive: NDArray[np.bool_], points: int | None = None
) -> RocCurve:
    """The curve of ``scores`` (N,), higher meaning positive, against the truth ``positive`` (N,).

    Samples of equal score enter together, so ties make a slanted stretch. ``points`` thins the curve to at
    most so many (at least 2), evenly along its length, ends kept. Raises `ValueError` unless both classes
    have samples and scores are finite.
    """
    # scikit-learn has the same numbers, and its checks take twenty times as long: most of a trial's time
    _check(scores, positive)
    order = np.argsort(scores)[::-1]
    ordered = scores[order]
    last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(order) - 1)  # of those of equal score
    right = np.append(0, np.cumsum(positive[order])[last])
    wrong = np.append(0, 1 + last) - right
    return _thinned(RocCurve(wrong / wrong[-1], right / right[-1]), points)


def auc(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: the probability that a positive outscores a negative, a tie counting one
    half.

    Raises as `roc_curve`.
    """
    curve = roc_curve(scores, positive)
    return float(np.trapezoid(curve.tpr, curve.fpr))


def tpr_at_fpr(scores: NDArray[np.floating], positive: NDArray[np.bool_], fpr: float) -> float:
    """The highest true positive rate of any threshold whose false positive rate is at most ``fpr``.

    Membership attacks are to be compared by it (Carlini et al. 2022, Section III). Nothing is interpolated:
    with N negatives and ``fpr`` < 1/N it is the share of positives above them all. Raises as `roc_curve`
    does, and for an ``fpr`` outside [0, 1].
    """
    if not 0.0 <= fpr <= 1.0:
        raise ValueError(f"a false positive rate lies in 0..1, not {fpr:g}")
    curve = roc_curve(scores, positive)
    return float(curve.tpr[curve.fpr <= fpr + 1e-12].max())


def mean_auc(scores: NDArray[np.floating], labels: NDArray[np.integer]) -> float | None:
    """AUC of ``scores`` (N, S) for ``labels`` (N,): of class 1 where S = 2, else the mean over one-vs-rest.

    With two classes the score is that of class 1 less that of class 0. With more, the mean is over the
    classes that some samples have and some have not. None where there is no such class.
    """
    areas = [auc(*decided) for decided in one_against_rest(scores, labels)]
    return float(np.mean(areas)) if areas else None


def mean_roc_curve(
    scores: NDArray[np.floating], labels: NDArray[np.integer], points: int | None = None
) -> RocCurve | None:
    """The curve whose area `mean_auc` is, of ``scores`` (N, S) for ``labels`` (N,): of class 1 where S = 2,
    else the mean true positive rate of the classes' one-vs-rest curves at each false positive rate.

    Every class counts alike, however rare: pooled decisions would show a mere guess by the classes' shares as
    knowledge. The curve has all bends of all classes and both ends of vertical steps, so its area is the AUC
    up to rounding; ``points`` thins it as in `roc_curve`. None where there is no such class. Raises as
    `roc_curve`.
    """
    curves = [roc_curve(*decided) for decided in one_against_rest(scores, labels)]
    if len(curves) < 2:
        return _thinned(curves[0], points) if curves else None
    # The same share of two classes' negatives is the same float, since division rounds correctly.
    grid = np.unique(np.concatenate([curve.fpr for curve in curves]))
    steps = np.mean([_step(curve, grid) for curve in curves], axis=0)  # (2, G)
    fpr, tpr = np.repeat(grid, 2), steps.T.ravel()
    new = np.append(True, (np.diff(fpr) > 0) | (np.diff(tpr) > 0))
    return _thinned(RocCurve(fpr[new], tpr[new]), points)


def one_against_rest(
    scores: NDArray[np.floating], labels: NDArray[np.integer]
) -> list[tuple[NDArray[np.floating], NDArray[np.bool_]]]:
    """Scores (N,) and truth (N,) of each class that some samples have and some have not; of two classes,
    those of class 1 only."""
    if scores.shape[1] == 2:
        each = [(scores[:, 1] - scores[:, 0], labels == 1)]
    else:
        each = [(scores[:, c], labels == c) for c in range(scores.shape[1])]
    return [(score, positive) for score, positive in each if 0 < positive.sum() < len(positive)]


def _step(curve: RocCurve, fpr: NDArray[np.float64]) -> NDArray[np.float64]:
    """The curve's lowest and highest true positive rates (2, G) at each of ``fpr`` (G,); they differ where it
    rises vertically."""
    before = np.searchsorted(curve.fpr, fpr, side="right") - 1
    after = np.searchsorted(curve.fpr, fpr, side="left")
    bend = curve.fpr[after] == fpr  # else the two are neighbours
    share = (fpr - curve.fpr[before]) / np.where(bend, 1.0, curve.fpr[after] - curve.fpr[before])
    low, high = curve.tpr[before], curve.tpr[after]
    between = np.minimum(low + share * (high - low), high)  # rounding must not let a curve fall
    return np.where(bend, [high, low], between)


def _thinned(curve: RocCurve, points: int | None) -> RocCurve:
    if points is None or len(curve.fpr) <= points:
        return curve
    if points < 2:
        raise ValueError("a curve has at least 2 points")
    travelled = curve.fpr + curve.tpr  # from 0 to 2, ascending
    wanted = np.linspace(0.0, 2.0, points)
    keep = np.searchsorted(travelled, wanted - 1e-12)
    keep[-1] = len(travelled) - 1  # bends of different classes may lie closer than the tolerance
    keep = np.unique(keep)
    return RocCurve(curve.fpr[keep], curve.tpr[keep])


def _check(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> None:
    if scores.shape != positive.shape or scores.ndim != 1:
        raise ValueError(f"scores {scores.shape} and truth {positive.shape} must be vectors of one length")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    if not 0 < np.count_nonzero(positive) < len(positive):
        raise ValueError("a ROC curve needs samples of both classes")


def best_cut(ordered: NDArray[np.float64], quality: NDArray[Any]) -> tuple[int, float]:
    """Number of the ascending values ``ordered`` (V,) that lie below the best cut, and a threshold there.

    ``quality`` (V + 1,), not negative, says how good it is to have k values below. Equal values are never
    parted; of equally good cuts the lowest is taken. The threshold lies halfway between two values, or just
    below the first, or on the last.
    """
    possible = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
    below = int(np.argmax(np.where(possible, quality, -1)))
    if below == 0:
        return 0, float(np.nextafter(ordered[0], -np.inf))
    if below == len(ordered):
        return below, float(ordered[-1])
    return below, float((ordered[below - 1] + ordered[below]) / 2)


def most_accurate_threshold(
    values: NDArray[np.floating], labels: NDArray[np.integer], *, balanced: bool = False
) -> tuple[float, float]:
    """The τ for which "1 where value > τ, else 0" is right most often, and that accuracy; with ``balanced``
    the mean of the accuracies among ones and among zeros, as far as there are both.

    ``values`` (V,) and binary ``labels`` (V,). Every cut between two different values is tried, and the two
    beyond the ends (all 1: just below the least, all 0: the greatest); the lowest of equally good ones is
    taken.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order].astype(np.float64)
    ones = (labels[order] == 1).astype(np.int64)
    many = int(ones.sum())
    rest = len(ones) - many
    # what a one and a zero count for: whole numbers, so that equally good cuts are equal
    one, zero = (rest, many) if balanced and many and rest else (1, 1)
    # with the k least values called 0: right are the zeros among them and the ones after them
    zeros_below, ones_below = (np.concatenate([[0], np.cumsum(each)]) for each in (1 - ones, ones))
    right = zero * zeros_below + one * (many - ones_below)
    cut, tau = best_cut(ordered, right)
    return tau, float(right[cut] / (one * many + zero * rest))
