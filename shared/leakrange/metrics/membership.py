"""Figures of membership attacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.intervals import auc_interval, effective_counts
from leakrange.metrics.roc import auc, tpr_at_fpr
from leakrange.metrics.threshold import best_cut

__all__ = ["MembershipReport", "Separation", "best_threshold", "membership_report", "separation"]


@dataclass(frozen=True)
class Separation:
    """How well scores separate members from others, shares in [0, 1]; no threshold is chosen.

    ``auc``, its 95 % interval over records (over people, where a person has several records), and
    ``unsigned_auc`` = max(auc, 1 − auc), for an attacker who learns the sign on other records.
    ``tpr_at_001`` and ``tpr_at_0001``: the share of members found at false positive rates of 1 % and 0.1 %
    (Carlini et al. 2022, Section III).
    """

    auc: float
    auc_interval: tuple[float, float]
    unsigned_auc: float
    tpr_at_001: float
    tpr_at_0001: float


@dataclass(frozen=True)
class MembershipReport(Separation):
    """Figures of a membership attack, shares in [0, 1].

    The separation is of all records. The others are of the test half, at ``threshold``, which has the highest
    balanced accuracy on the validation half: ``balanced_accuracy``, and of members ``precision`` (0 where
    nobody is accused), ``recall`` and ``f1``; ``guessed`` (N,) says of all records which reach the threshold,
    ``tested`` (N,) which are of the test half.
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
    area: float | None = None,
    person: NDArray[np.integer] | None = None,
) -> Separation:
    """That of ``scores`` (N,), higher meaning member, from the truth ``members`` (N,).

    ``area`` is the AUC where it is another than that of all scores together. ``person`` (N,) says whose the
    records are, where a person has several: these are no independent witnesses, and the interval is wider.
    Raises `ValueError` for scores that are not finite, arrays that do not fit, where there are no members or
    no others, and where a person is both.
    """
    area = auc(scores, members) if area is None else area
    counts = (
        (float(members.sum()), float((~members).sum()))
        if person is None
        else effective_counts(scores, members, person)
    )
    return Separation(
        auc=area,
        auc_interval=auc_interval(area, *counts),
        unsigned_auc=max(area, 1.0 - area),
        tpr_at_001=tpr_at_fpr(scores, members, 0.01),
        tpr_at_0001=tpr_at_fpr(scores, members, 0.001),
    )


def membership_report(
    scores: NDArray[np.floating],
    members: NDArray[np.bool_],
    seed: int = 0,
    person: NDArray[np.integer] | None = None,
) -> MembershipReport:
    """The report of ``scores`` (N,), higher meaning member, against the truth ``members`` (N,).

    ``seed`` halves the records at random, members and others each. ``person`` is as for `separation`, and
    so is what is raised; also for fewer than two members or two others.
    """
    separated = separation(scores, members, person=person)
    if min(int(members.sum()), int((~members).sum())) < 2:
        raise ValueError("a membership report needs two members and two others, or more")
    tested = _half(members, seed)
    threshold = best_threshold(scores[~tested], members[~tested])
    guessed = scores >= threshold
    truth, said = members[tested], guessed[tested]
    found = int((said & truth).sum())
    recall, spared = found / int(truth.sum()), float((~said[~truth]).mean())
    precision = found / int(said.sum()) if said.any() else 0.0
    return MembershipReport(
        **vars(separated),
        threshold=threshold,
        balanced_accuracy=(recall + spared) / 2,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if found else 0.0,
        guessed=guessed,
        tested=tested,
    )


def best_threshold(scores: NDArray[np.floating], members: NDArray[np.bool_]) -> float:
    """The score from which on to say member, for the highest balanced accuracy on these records.

    Halfway between two neighbouring scores; of equals the highest. Raises `ValueError` unless there are
    members and others.
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
