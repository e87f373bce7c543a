"""Figures of membership attacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import area_interval, cluster_count
from leakrange.metrics.roc import auc, best_cut, tpr_at_fpr

__all__ = [
    "MembershipReport",
    "Separation",
    "area_in_folds",
    "best_threshold",
    "membership_report",
    "separation",
]


@dataclass(frozen=True)
class Separation:
    """Separation of members from others by scores, as shares in [0, 1]; no threshold is chosen.

    ``auc`` has its 95 % interval over records (over people, where a person has several records).
    ``unsigned_auc`` = max(auc, 1 − auc) is for an attacker who learns the sign on other records.
    ``tpr_at_001`` and ``tpr_at_0001`` are the shares of members found at false positive rates of 1 % and 0.1
    % (Carlini et al. 2022, Section III). They are None where they cannot be measured: a rate of 0.1 % takes
    1,000 others (people, where a person has several records), or else it is the rate of no false positive at
    all.
    """

    auc: float
    auc_interval: tuple[float, float]
    unsigned_auc: float
    tpr_at_001: float | None
    tpr_at_0001: float | None


@dataclass(frozen=True)
class MembershipReport(Separation):
    """Figures of a membership attack, shares in [0, 1].

    The separation is of all records. The others are of the test half, at ``threshold``, which has the highest
    balanced accuracy on the validation half: ``balanced_accuracy``, and of members ``precision`` (0 where
    nobody is accused), ``recall`` and ``f1``. ``guessed`` (N,) marks the records that reach the threshold,
    ``tested`` (N,) those of the test half. Where scores above 0 mean member, all records are tested, and
    these figures are means over the folds.
    """

    threshold: float
    balanced_accuracy: float
    precision: float
    recall: float
    f1: float
    guessed: NDArray[np.bool_]
    tested: NDArray[np.bool_]


def separation(
    scores: NDArray[np.floating],
    members: NDArray[np.bool_],
    person: NDArray[np.integer] | None = None,
    fold: NDArray[np.integer] | None = None,
) -> Separation:
    """Separation of the ``members`` (N,) from the others by ``scores`` (N,), higher meaning member.

    ``person`` (N,) names the person of each record where a person has several, or (N, 2) the two people of a
    pair: such records are not independent, so the interval is wider. ``fold`` (N,) tells which model gave
    each score, where several did: the AUC is the mean of the folds'. Raises `ValueError` for scores that are
    not finite, arrays that do not fit, and where there are no members or no others (in a fold).
    """
    area = area_in_folds(scores, members, fold)
    others = int((~members).sum()) if person is None else cluster_count(person[~members])
    low, lowest = (
        tpr_at_fpr(scores, members, rate) if others >= fewest else None
        for rate, fewest in ((0.01, 100), (0.001, 1000))
    )
    return Separation(
        auc=area,
        auc_interval=area_interval(area, scores, members, person, fold),
        unsigned_auc=max(area, 1.0 - area),
        tpr_at_001=low,
        tpr_at_0001=lowest,
    )


def membership_report(
    scores: NDArray[np.floating],
    members: NDArray[np.bool_],
    seed: int = 0,
    person: NDArray[np.integer] | None = None,
    fold: NDArray[np.integer] | None = None,
    *,
    decided: bool = False,
) -> MembershipReport:
    """The report of ``scores`` (N,), higher meaning member, against the truth ``members`` (N,).

    ``seed`` halves the records at random, members and others each; with ``decided`` scores above 0 mean
    member, and all records are tested. ``fold`` (N,) tells which model gave each score, where several did.
    ``person`` is as for `separation`. Raises as `separation` does, and for fewer than two members or two
    others (of each fold).
    """
    separated = separation(scores, members, person, fold)
    if min(int(members.sum()), int((~members).sum())) < 2:
        raise ValueError("a membership report needs two members and two others, or more")
    tested = np.ones(len(members), dtype=bool) if decided else _half(members, seed)
    threshold = 0.0 if decided else best_threshold(scores[~tested], members[~tested])
    guessed = scores > threshold if decided else scores >= threshold
    parts = [fold == each for each in np.unique(fold)] if decided and fold is not None else [tested]
    balanced, precision, recall, f1 = np.mean(
        [_rates(guessed[part], members[part]) for part in parts], axis=0
    )
    return MembershipReport(
        **vars(separated),
        threshold=threshold,
        balanced_accuracy=float(balanced),
        precision=float(precision),
        recall=float(recall),
        f1=float(f1),
        guessed=guessed,
        tested=tested,
    )


def area_in_folds(
    scores: NDArray[np.floating], members: NDArray[np.bool_], fold: NDArray[np.integer] | None
) -> float:
    """The AUC, or with folds (N,) the mean of theirs, since each fold's scores have a scale of their own.
    Raises as `auc` does."""
    if fold is None:
        return auc(scores, members)
    return float(np.mean([auc(scores[fold == each], members[fold == each]) for each in np.unique(fold)]))


def _rates(accused: NDArray[np.bool_], truth: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    """Balanced accuracy, precision, recall and F1 where the ``accused`` (N,) are taken for members."""
    hits = int((accused & truth).sum())
    recall, spared = hits / int(truth.sum()), float((~accused[~truth]).mean())
    precision = hits / int(accused.sum()) if accused.any() else 0.0
    return (
        (recall + spared) / 2,
        precision,
        recall,
        2 * precision * recall / (precision + recall) if hits else 0.0,
    )


def best_threshold(scores: NDArray[np.floating], members: NDArray[np.bool_]) -> float:
    """The lowest score that is taken for a member's, for the highest balanced accuracy on these records.

    It lies halfway between two neighbouring scores; of equally good ones it is the highest. Raises
    `ValueError` unless there are members and others.
    """
    if not 0 < members.sum() < len(members):
        raise ValueError("a threshold needs members and others")
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order].astype(np.float64), members[order]
    recall = np.concatenate([[0.0], np.cumsum(hits) / hits.sum()])
    spared = 1.0 - np.concatenate([[0.0], np.cumsum(~hits) / (~hits).sum()])
    return -best_cut(-ranked, recall + spared)[1]


def _half(members: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """A random half of the members and a random half of the others, rounded up."""
    rng = np.random.default_rng([seed % 2**64, int.from_bytes(b"membership", "little")])
    tested = np.zeros(len(members), dtype=bool)
    for part in (np.flatnonzero(members), np.flatnonzero(~members)):
        tested[part[np.argsort(rng.random(len(part)), kind="stable")][: (len(part) + 1) // 2]] = True
    return tested
