"""The data of a trial's charts, in JSON's types."""

from __future__ import annotations

from typing import Any

from leakrange.metrics.accuracy import confusion_matrix
from leakrange.metrics.outcomes import Guesses, Ranking
from leakrange.metrics.roc import mean_roc_curve, roc_curve

__all__ = ["POINTS", "viewed"]

POINTS = 101
"""Points of a ROC curve that is stored: enough for any screen."""


def viewed(guesses: Guesses | None, ranking: Ranking) -> dict[str, Any]:
    """The views of a trial: "confusion", counts with a row for each true class, where it guesses classes; and
    "roc", false and true positive rates, where the samples are of several classes."""
    views: dict[str, Any] = {}
    if guesses is not None:
        matrix = confusion_matrix(guesses.predicted, guesses.truth, guesses.classes)
        views["confusion"] = matrix.tolist()
    if ranking.scores.ndim == 1:
        curve = roc_curve(ranking.scores, ranking.truth.astype(bool), points=POINTS)
    else:
        mean_curve = mean_roc_curve(ranking.scores, ranking.truth.astype(int), points=POINTS)
        if mean_curve is None:
            return views
        curve = mean_curve
    return views | {"roc": {"fpr": curve.fpr.tolist(), "tpr": curve.tpr.tolist()}}
