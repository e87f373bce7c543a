"""First-cut membership inference: judges single releases as if they were records of the training set
(FACELEAKS 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import class_membership
from leakrange.attacks.people.classifiers import fitted_scores
from leakrange.attacks.people.folds import FOLDS, FoldsBy, OutOfFold, even_folds, out_of_fold, person_folds
from leakrange.attacks.people.projection import projected
from leakrange.attacks.people.unsupervised import Signed, signed
from leakrange.metrics.intervals import summarise
from leakrange.wire.errors import InvalidInput

__all__ = ["FirstCut", "first_cut", "score_threshold"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FirstCut:
    """Each figure as (mean, sample deviation) over folds, and the scores (n,) behind them.

    precision, recall, f1 in [0, 1] of predicting "member" (Section 3.1), 0 where their denominator is.
    """

    precision: tuple[float, float]
    recall: tuple[float, float]
    f1: tuple[float, float]
    auc: tuple[float, float]
    out_of_fold: OutOfFold


def first_cut(
    releases: NDArray[np.floating],
    member: Mask,
    person: NDArray[np.int64],
    classifier: Literal["logistic", "forest", "svm"] = "logistic",
    folds_by: FoldsBy = "person",
    components: int | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> FirstCut:
    """Classify single releases (n, k) by membership (n,) in ``folds`` folds (Tables 1 and 2, Figure 3).

    logistic is the paper's linear model, forest its random forest, svm its linear support vector machine.
    ``components`` applies a PCA first, fitted on the training folds.

    folds_by: "person" keeps all images of a ``person`` (n,) in one fold. "record" assigns images to folds one
    by one, as the paper's words suggest. Then the classifier has seen other images of nearly every person
    together with their membership, so recognising the person is enough. The paper cannot mean that: its
    figures below one half match folds by person (as do unshuffled folds of records sorted by person, nearly).
    Report both.

    Raises `InvalidInput` where lengths differ, where a person has images of both kinds, and with fewer
    persons (records) of a kind than folds.
    """
    if releases.ndim != 2 or not len(releases) == len(member) == len(person):
        raise InvalidInput(
            f"releases {releases.shape}, {len(member)} memberships and {len(person)} persons do not match"
        )
    class_membership(person, member)  # refuses persons of both kinds
    by_person = folds_by == "person"
    fold = person_folds(person, member, folds, seed) if by_person else even_folds(member, folds, seed)

    def score(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.float64]:
        known, asked = projected(releases[train], releases[test], components)
        return fitted_scores(classifier, known, member[train], asked, seed=seed)

    found = out_of_fold(fold, score)
    each = [_precision_recall_f1(found.scores[fold == k] > 0, member[fold == k]) for k in range(folds)]
    precision, recall, f1 = (_over_folds(values) for values in zip(*each, strict=True))
    return FirstCut(precision, recall, f1, _over_folds(found.aucs(member)), found)


def score_threshold(distances: NDArray[np.floating], pair_member: Mask, pair_validation: Mask) -> Signed:
    """Uses a verification distance (q,) as the score of its pair, without auxiliary data (Section 5.2, Figure
    3b). The AUC is over the pairs that are not for validation.

    ``pair_validation`` (q,) must hold all pairs of a person or none.
    """
    return signed(distances, pair_member, pair_validation)


def _precision_recall_f1(predicted: Mask, truth: Mask) -> tuple[float, float, float]:
    hits = int((predicted & truth).sum())
    precision = hits / max(int(predicted.sum()), 1)
    recall = hits / max(int(truth.sum()), 1)
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def _over_folds(values: Sequence[float]) -> tuple[float, float]:
    found = summarise(values)
    return found.mean, found.deviation or 0.0
