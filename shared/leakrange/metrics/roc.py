"""ROC curves and the area under them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["RocCurve", "auc", "mean_auc", "roc_curve", "tpr_at_fpr"]


@dataclass(frozen=True)
class RocCurve:
    """False and true positive rates in [0, 1], ascending from (0, 0) to (1, 1); one point per distinct
    score at most."""

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]


def roc_curve(
    scores: NDArray[np.floating], positive: NDArray[np.bool_], points: int | None = None
) -> RocCurve:
    """The curve of ``scores`` (N,), higher meaning positive, against the truth ``positive`` (N,).

    Samples of equal score enter together, so ties make a slanted stretch. ``points`` thins the curve to at
    most so many (at least 2), evenly along its length, ends kept. Raises `ValueError` unless both classes
    are there and scores are finite.
    """
    _check(scores, positive)
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], positive[order]
    last_of_tie = np.append(ranked[1:] != ranked[:-1], True)
    tpr = np.concatenate([[0.0], np.cumsum(hits)[last_of_tie] / hits.sum()])
    fpr = np.concatenate([[0.0], np.cumsum(~hits)[last_of_tie] / (~hits).sum()])
    if points is not None and len(fpr) > points:
        if points < 2:
            raise ValueError("a curve has at least 2 points")
        travelled = fpr + tpr  # from 0 to 2, strictly ascending
        wanted = np.linspace(0.0, 2.0, points)
        keep = np.unique(np.searchsorted(travelled, wanted - 1e-12).clip(max=len(fpr) - 1))
        fpr, tpr = fpr[keep], tpr[keep]
    return RocCurve(fpr, tpr)


def auc(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: the probability that a positive outscores a negative, a tie counting one
    half.

    Raises as `roc_curve`.
    """
    curve = roc_curve(scores, positive)
    return float(np.sum(np.diff(curve.fpr) * (curve.tpr[1:] + curve.tpr[:-1]) / 2))


def tpr_at_fpr(scores: NDArray[np.floating], positive: NDArray[np.bool_], fpr: float) -> float:
    """The highest true positive rate of any threshold whose false positive rate is at most ``fpr``.

    Membership attacks are to be compared by it (Carlini et al. 2022, Section III). Nothing is interpolated:
    with N negatives and ``fpr`` < 1/N it is the share of positives above them all. Raises as `roc_curve`,
    and for an ``fpr`` outside [0, 1].
    """
    if not 0.0 <= fpr <= 1.0:
        raise ValueError(f"a false positive rate lies in 0..1, not {fpr:g}")
    curve = roc_curve(scores, positive)
    return float(curve.tpr[curve.fpr <= fpr + 1e-12].max())


def mean_auc(scores: NDArray[np.floating], labels: NDArray[np.integer]) -> float | None:
    """AUC of ``scores`` (N, S) for ``labels`` (N,): of class 1 where S = 2, else the mean over one-vs-rest.

    With two classes the score is that of class 1 less that of class 0. Of more, the mean is over the
    classes that some samples have and some have not. None where there is no such class.
    """
    if scores.shape[1] == 2:
        positive = labels == 1
        return auc(scores[:, 1] - scores[:, 0], positive) if 0 < positive.sum() < len(positive) else None
    present = [c for c in range(scores.shape[1]) if 0 < (labels == c).sum() < len(labels)]
    return float(np.mean([auc(scores[:, c], labels == c) for c in present])) if present else None


def _check(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> None:
    if scores.shape != positive.shape or scores.ndim != 1:
        raise ValueError(f"scores {scores.shape} and truth {positive.shape} must be vectors of one length")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    if not 0 < np.count_nonzero(positive) < len(positive):
        raise ValueError("a ROC curve needs samples of both classes")
