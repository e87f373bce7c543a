"""Intervals over people: by simulation, by hand, and against formulas written out with loops."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from leakrange.metrics import (
    auc,
    auc_interval,
    effective_counts,
    mean_interval,
    share_interval,
    wilson_interval,
)
from leakrange.metrics.clusters import share_of

Records = tuple[NDArray[np.float64], NDArray[np.int64]]


def records(rng: np.random.Generator, people: int = 120, each: int = 15) -> Records:
    """Normal values of several records of everybody, half of whose variance is the person's."""
    person = np.repeat(np.arange(people), each)
    own, noise = rng.normal(size=people)[person], rng.normal(size=len(person))
    return np.sqrt(0.5) * (own + noise), person


@pytest.mark.parametrize("share", [0.5, 0.85])
def test_a_share_is_covered_over_people_95_times_in_100_and_over_records_half_as_often(share: float) -> None:
    rng = np.random.default_rng(0)
    naive = clustered = 0
    for _ in range(500):
        values, person = records(rng)
        right = values < stats.norm.ppf(share)
        low, high = share_interval(right)
        naive += low <= share <= high
        low, high = share_interval(right, person)
        clustered += low <= share <= high
    assert 0.92 <= clustered / 500 <= 0.98
    assert naive / 500 < 0.75


@pytest.mark.parametrize("people", [4, 10])
def test_a_handful_of_people_is_covered_too(people: int) -> None:
    """Four people tell so little that the interval is nearly everything."""
    rng, covered, width = np.random.default_rng(1), 0, 0.0
    for _ in range(500):
        values, person = records(rng, people)
        low, high = share_interval(values < 0.4, person)
        covered += low <= stats.norm.cdf(0.4) <= high
        width += (high - low) / 500
    assert covered / 500 > 0.93
    assert (width > 0.5) == (people == 4)


def test_the_mean_of_records_of_people_is_covered() -> None:
    rng = np.random.default_rng(2)
    naive = clustered = 0
    for _ in range(400):
        values, person = records(rng, 30)
        for interval, of in ((mean_interval(values), 0), (mean_interval(values, person), 1)):
            assert interval is not None
            hit = interval[0] <= 0.0 <= interval[1]
            naive, clustered = (naive + hit, clustered) if of == 0 else (naive, clustered + hit)
    assert naive / 400 < 0.75
    assert 0.92 <= clustered / 400 <= 0.98


def test_a_share_of_pairs_is_covered() -> None:
    """Whether a pair is told right depends on either person: all pairs of 30 people."""
    first, second = np.triu_indices(30, 1)
    pairs = np.stack([first, second], axis=1)
    rng = np.random.default_rng(3)
    truth = float(stats.norm.cdf(1.0))
    naive = clustered = 0
    for _ in range(400):
        own = rng.normal(size=30)
        values = 0.5 * (own[first] + own[second]) + np.sqrt(0.5) * rng.normal(size=len(pairs))
        low, high = share_interval(values < 1.0)
        naive += low <= truth <= high
        low, high = share_interval(values < 1.0, pairs)
        clustered += low <= truth <= high
    assert naive / 400 < 0.7
    assert 0.91 <= clustered / 400 <= 0.98


def test_an_auc_is_covered_where_everybody_has_records_of_both_classes() -> None:
    """As a smile has, which people now wear and now do not; then what is one's own tells nothing of it."""
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(300):
        values, person = records(rng, 60, 10)
        positive = rng.random(600) < rng.beta(2.0, 2.0, 60)[person]  # some smile more than others
        low, high = auc_interval(auc(values, positive), *effective_counts(values, positive, person))
        covered += low <= 0.5 <= high
    assert 0.92 <= covered / 300 <= 1.0


def test_an_auc_over_folds_by_record_is_covered() -> None:
    """Each fold has a scale of its own, and records of one person are in several folds."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(150):
        values, person = records(rng)
        positive, fold = person % 2 == 0, rng.permutation(np.arange(len(values)) % 5)
        scores = values * (1.0 + fold) + 10.0 * fold
        area = float(np.mean([auc(scores[fold == f], positive[fold == f]) for f in range(5)]))
        counts = effective_counts(scores, positive, person, fold)
        low, high = auc_interval(area, *counts)
        covered += low <= 0.5 <= high
    assert 0.92 <= covered / 150 <= 0.98


def obuchowski(scores: NDArray[np.float64], positive: NDArray[np.bool_], person: NDArray[np.int64]) -> float:
    """The variance of the AUC as printed (Obuchowski 1997, Eqs. 3 to 7), with loops."""
    x, y = scores[positive], scores[~positive]
    area = np.mean([[(a > b) + 0.5 * (a == b) for b in y] for a in x])
    over = {
        p: sum(
            np.mean([(a > b) + 0.5 * (a == b) for b in y]) - area for a in scores[(person == p) & positive]
        )
        for p in set(person)
    }
    under = {
        p: sum(
            np.mean([(a > b) + 0.5 * (a == b) for a in x]) - area for b in scores[(person == p) & ~positive]
        )
        for p in set(person)
    }
    some = [len(set(person[side])) for side in (positive, ~positive)]
    both = len(over)
    s10 = some[0] / ((some[0] - 1) * len(x)) * sum(v**2 for v in over.values())
    s01 = some[1] / ((some[1] - 1) * len(y)) * sum(v**2 for v in under.values())
    s11 = both / (both - 1) * sum(over[p] * under[p] for p in over)
    return float(s10 / len(x) + s01 / len(y) + 2 * s11 / (len(x) * len(y)))


@pytest.mark.parametrize("both", [False, True])
def test_counts_are_obuchowskis(both: bool) -> None:
    """Obuchowski's variance is that of so many independent samples, whose own is DeLong's."""
    rng = np.random.default_rng(6)
    person = np.repeat(np.arange(12), 5)
    positive = rng.random(60) < 0.5 if both else person % 3 == 0
    # Whoever has more positives has higher scores: what samples of a person have in common makes them one.
    own = rng.normal(size=12)
    scores = np.round(own[person] + 0.3 * rng.normal(size=60) + positive, 1)
    if both:
        scores = np.where(positive, 1.0, -1.0) * own[person] + 0.3 * rng.normal(size=60)
    found = effective_counts(scores, positive, person)
    single = obuchowski(scores, positive, np.arange(60))
    x, y = positive.sum(), (~positive).sum()
    above = [np.mean((v > scores[~positive]) + 0.5 * (v == scores[~positive])) for v in scores[positive]]
    below = [np.mean((v < scores[positive]) + 0.5 * (v == scores[positive])) for v in scores[~positive]]
    parts = np.var(above, ddof=1) / x, np.var(below, ddof=1) / y
    assert single == pytest.approx(sum(parts))  # DeLong
    effective = parts[0] * x / found[0] + parts[1] * y / found[1]
    expected = obuchowski(scores, positive, person)
    assert expected > 1.5 * single
    assert effective == pytest.approx(expected)


def test_a_share_by_hand() -> None:
    """Three people with 2, 1 and 1 records; right are 1 of 2, 1 and 0: residuals 0, ½ and −½ by person."""
    right, person = np.array([True, False, True, False]), np.array([7, 7, 3, 9])
    together = (0.0**2 + 0.5**2 + 0.5**2) * 3 / 2 / 16
    single = 4 * 0.25 * 4 / 3 / 16
    share, count = share_of(right, person)
    assert share == 0.5
    t = float(stats.t.ppf(0.975, 2))
    assert count == pytest.approx(4 / max(together / single, 1.0) * (stats.norm.ppf(0.975) / t) ** 2)
    same = np.array([True, True, False, False])
    together = (1.0**2 + 0.5**2 + 0.5**2) * 3 / 2 / 16
    assert share_of(same, person)[1] == pytest.approx(4 * single / together * (1.959964 / t) ** 2, rel=1e-6)


def test_pairs_by_hand() -> None:
    """Two pairs of the same two people are one witness, and pairs without people in common are two."""
    right = np.array([1.0, 1.0, 0.0, 0.0])
    apart = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    twice = np.array([[0, 1], [1, 0], [4, 5], [5, 4]])
    factor = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, np.array([7, 3]))) ** 2
    # Eight people and four pairs: (1 of 4 residuals)² · 8/7 over 4/3 of the same is less than one.
    assert share_of(right, apart)[1] == pytest.approx(4 * factor[0])
    assert share_of(right, twice)[1] == pytest.approx(4 / (2 * (4 / 3) / (4 / 3)) * factor[1])


def test_what_no_interval_can_be_made_of() -> None:
    same = np.zeros(5, dtype=int)
    assert share_interval(np.array([True] * 4 + [False]), same) == (0.0, 1.0)
    assert mean_interval(np.arange(5.0), same) is None
    assert share_interval(np.array([True] * 6), np.array([0, 0, 1, 1, 2, 2])) == pytest.approx(
        wilson_interval(*(3 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 2)) ** 2,) * 2)
    )
    assert share_interval(np.array([True, False, True]), np.array([2, 0, 1])) == wilson_interval(2, 3)
    with pytest.raises(ValueError, match="its group"):
        share_interval(np.array([True, False]), same)
    with pytest.raises(ValueError, match="its group"):
        effective_counts(np.arange(4.0), np.array([True, False, True, False]), same)
    with pytest.raises(ValueError, match="a fold lacks"):
        effective_counts(
            np.arange(4.0), np.array([True, True, False, False]), same[:4], np.array([0, 1, 1, 1])
        )
