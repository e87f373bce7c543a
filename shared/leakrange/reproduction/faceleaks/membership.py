"""Membership inference from the three APIs: first-cut and class-based, with and without auxiliary data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.class_scores import ClassScores
from leakrange.attacks.people.first_cut import first_cut, score_threshold
from leakrange.attacks.people.folds import FoldsBy
from leakrange.attacks.people.supervised import cross_validated_scores
from leakrange.attacks.people.unsupervised import signed
from leakrange.metrics import roc_curve, separation
from leakrange.reproduction.faceleaks.world import Targets

__all__ = ["class_based", "first_cut_rows", "judged"]

POINTS = 60
"""Of a curve that is kept."""
CLASSIFIERS: tuple[Literal["logistic", "forest", "svm"], ...] = ("logistic", "forest", "svm")
FOLDS_BY: tuple[FoldsBy, ...] = ("person", "record")
SUPERVISED: tuple[Literal["qda", "logistic"], ...] = ("qda", "logistic")
Row = dict[str, Any]


def first_cut_rows(
    api: str, releases: NDArray[np.floating], pair_person: NDArray[np.int64] | None, who: Targets, seed: int
) -> list[Row]:
    """First-cut rows of one API (Tables 1 and 2, Figure 3) on the people of the test half.

    releases: vectors (people · m, k), person after person, or distances (q,) with ``pair_person`` (q,): then
    the distance is a threshold, whose sign the validation people give.
    """
    if pair_person is not None:
        found = score_threshold(releases.ravel(), who.member[pair_person], ~who.tested[pair_person])
        asked = pair_person[who.tested[pair_person]]
        return [
            judged(api, "first-cut", "distance as threshold", found.scores, who.member[asked], person=asked)
        ]
    people, images = who.images.shape
    person = np.repeat(np.arange(people), images)
    kept = who.tested[person]
    member = who.member[person][kept]
    rows = []
    for classifier in CLASSIFIERS:
        for folds_by in FOLDS_BY:
            cut = first_cut(releases[kept], member, person[kept], classifier, folds_by, seed=seed)
            method = f"{classifier}, folds by {folds_by}"
            row = judged(api, "first-cut", method, cut.out_of_fold.scores, member, person=person[kept])
            row |= {
                "auc": cut.auc[0],
                "precision": cut.precision[0],
                "recall": cut.recall[0],
                "f1": cut.f1[0],
            }
            rows.append(row)
    return rows


def class_based(
    api: str,
    found: ClassScores,
    who: Targets,
    seed: int,
    *,
    validation: ClassScores | None = None,
    supervised: bool = True,
) -> list[Row]:
    """Class-based rows of one API, on the people of the test half.

    Without auxiliary data: each family of scores, its sign (and which of its columns) learnt on the
    validation people, and the best of all by those. ``validation`` gives their scores where they are others
    than in ``found``: of an attacker who learnt on undefended answers. With auxiliary data: discriminant
    analysis and logistic regression in five folds of the test people.
    """
    table = found.scores.copy()
    if validation is not None:
        table[~who.tested] = validation.scores[~who.tested]
    member = who.member[who.tested]
    rows = []
    families: dict[str, Sequence[int]] = {**found.families, "best": range(len(found.names))}
    for name, columns in families.items():
        learnt = signed(table[:, list(columns)], who.member, ~who.tested)
        row = judged(api, "class-based, no auxiliary data", name, learnt.scores, member)
        chosen = found.names[list(columns)[learnt.column]]
        rows.append(row | {"sign": learnt.sign, "chosen": chosen, "validation_auc": learnt.validation_auc})
    if supervised:
        features = found.features[who.tested]
        for classifier in SUPERVISED:
            scores = cross_validated_scores(features, member, classifier, found.components, seed=seed)
            mean = float(np.mean(scores.aucs(member)))
            rows.append(judged(api, "class-based, auxiliary data", classifier, scores.scores, member, mean))
    return rows


def judged(
    api: str,
    strategy: str,
    method: str,
    scores: NDArray[np.floating],
    member: NDArray[np.bool_],
    area: float | None = None,
    person: NDArray[np.integer] | None = None,
) -> Row:
    """One row: AUC with its interval, unsigned AUC, TPR at .1 % and 1 % FPR, and the curve. ``area`` is the
    AUC where it is another than that of all scores together: the mean over folds, whose scores have scales
    of their own. ``person`` says whose the scores are, where a person has several: the interval is then over
    ``people``."""
    found = separation(scores, member, area, person)
    low, high = found.auc_interval
    curve = roc_curve(scores, member, POINTS)
    return {
        "api": api,
        "strategy": strategy,
        "method": method,
        "auc": found.auc,
        "low": low,
        "high": high,
        "people": len(scores) if person is None else len(np.unique(person)),
        "unsigned": found.unsigned_auc,
        "tpr_at_01": found.tpr_at_0001,
        "tpr_at_1": found.tpr_at_001,
        "fpr": [round(float(x), 5) for x in curve.fpr],
        "tpr": [round(float(x), 5) for x in curve.tpr],
    }
