"""Attribute inference from few labelled records: a linear classifier of releases (FACELEAKS Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classifiers import choose_setting, fitted_scores
from leakrange.data.splits import shuffled, stream
from leakrange.metrics.intervals import summarise
from leakrange.metrics.roc import auc
from leakrange.wire.errors import InvalidInput

__all__ = ["SIZES", "CurvePoint", "attribute_scores", "auxiliary_curve", "reference_curve"]

SIZES = (10, 30, 50, 100, 400)
"""Auxiliary records at which the curve is measured."""

Vectors = NDArray[np.floating]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class CurvePoint:
    """AUC with ``size`` auxiliary records (or reference identities): of each draw, their mean, and their
    sample deviation (0 for one draw)."""

    size: int
    aucs: tuple[float, ...]
    mean: float
    deviation: float


def attribute_scores(
    auxiliary: Vectors,
    labels: Mask,
    target: Vectors,
    person: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Scores (t,) of the ``target`` releases (t, d), higher meaning that the attribute is present. A logistic
    regression is fitted on auxiliary releases (a, d) with ``labels`` (a,).

    Releases may be features, distances to reference identities x₂ (one column each), or confidence vectors.
    They are standardised. With `ENOUGH` records or more, the penalty is chosen by inner cross-validation that
    keeps the records of one ``person`` (a,) together. Raises as `fitted_scores`.
    """
    setting = choose_setting("logistic", auxiliary, labels, person, seed)
    return fitted_scores("logistic", auxiliary, labels, target, setting, seed)


def auxiliary_curve(
    auxiliary: Vectors,
    labels: Mask,
    target: Vectors,
    target_labels: Mask,
    sizes: Sequence[int] = SIZES,
    draws: int = 5,
    person: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> list[CurvePoint]:
    """AUC on one target set (t, d) for several numbers of auxiliary records (Figure 7), each over ``draws``
    random subsets.

    The pool ``auxiliary`` (a, d) must hold no person of the target. ``person`` (a,) names the person of each
    record where a person has several. A subset has both labels, in the pool's proportion; within a draw,
    smaller subsets are prefixes of larger ones. Sizes above the pool's are left out. Raises `InvalidInput`
    where the pool or the target lacks a label, and for sizes below 2.
    """
    if min(sizes, default=2) < 2:
        raise InvalidInput("a classifier needs an auxiliary record of either label")
    orders = [_alternating(labels, seed, draw) for draw in range(draws)]
    points = []
    for size in sorted(set(sizes)):
        if size > len(labels):
            break
        found = []
        for order in orders:
            rows = order[:size]
            owners = None if person is None else person[rows]
            found.append(
                auc(attribute_scores(auxiliary[rows], labels[rows], target, owners, seed), target_labels)
            )
        points.append(_point(size, found))
    return points


def reference_curve(
    auxiliary: Vectors,
    labels: Mask,
    target: Vectors,
    target_labels: Mask,
    counts: Sequence[int] = (1, 2, 5, 10, 20),
    draws: int = 5,
    seed: int = 0,
) -> list[CurvePoint]:
    """AUC for several numbers of reference identities x₂ (Figure 8a), each a random subset of the columns of
    distances.

    For the number of classes C of a recognition service (Figure 8b), train a student for each C instead:
    columns of a larger student's softmax are not a smaller student's softmax. Within a draw, smaller subsets
    are prefixes of larger ones. Counts above the number of columns are left out.
    """
    width = auxiliary.shape[1]
    orders = [shuffled(stream(seed, f"references {draw}"), width) for draw in range(draws)]
    return [
        _point(
            count,
            [
                auc(
                    attribute_scores(
                        auxiliary[:, order[:count]], labels, target[:, order[:count]], seed=seed
                    ),
                    target_labels,
                )
                for order in orders
            ],
        )
        for count in sorted(set(counts))
        if 1 <= count <= width
    ]


def _point(size: int, aucs: Sequence[float]) -> CurvePoint:
    found = summarise(aucs)
    return CurvePoint(size, tuple(aucs), found.mean, found.deviation or 0.0)


def _alternating(labels: Mask, seed: int, draw: int) -> NDArray[np.intp]:
    """All rows in a random order. Any first 2 or more have both labels, nearly in proportion."""
    if not 0 < labels.sum() < len(labels):
        raise InvalidInput("records of both labels are needed")
    order = shuffled(stream(seed, f"auxiliary {draw}"), len(labels))
    place = np.empty(len(labels))
    for label in (True, False):
        rows = order[labels[order] == label]
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        place[rows[0]] = -1.0  # the first of either label before all others
    return order[np.argsort(place[order], kind="stable")]
