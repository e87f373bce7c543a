"""Intervals over people: by simulation, by hand, and against formulas written out with loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from leakrange.metrics import (
    area_interval,
    auc,
    effective_counts,
    effective_groups,
    mean_interval,
    share_interval,
    wilson_interval,
)
from leakrange.metrics.clusters import share_of

Records = tuple[NDArray[np.float64], NDArray[np.int64]]
Sizes = Callable[[np.random.Generator], NDArray[np.int64]]

PEOPLE: dict[str, Sizes] = {
    # Windows of the 16 people of hmp-recordings, a tenth of them: one has half, and here 55 %.
    "one has most": lambda _: np.array([342, 24, 14, 38, 5, 58, 37, 21, 16, 21, 21, 19, 1, 3, 4, 4]),
    "heavy tail": lambda rng: np.minimum(np.ceil(2 * (1 + rng.pareto(1.0, 30))), 400).astype(np.int64),
    "ten": lambda _: np.full(10, 15),
    "five": lambda _: np.full(5, 20),
    "many": lambda _: np.full(120, 15),
}
"""How many records everybody has."""


def records(rng: np.random.Generator, sizes: Sequence[int] | NDArray[np.int64]) -> Records:
    """Normal values of so many records of everybody, half of whose variance is the person's."""
    person = np.repeat(np.arange(len(sizes)), sizes)
    own, noise = rng.normal(size=len(sizes))[person], rng.normal(size=len(person))
    return np.sqrt(0.5) * (own + noise), person


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("people", PEOPLE)
def test_shares_and_means_are_covered_whoever_has_the_records(people: str, share: float) -> None:
    rng, times = np.random.default_rng(0), 150 if people == "many" else 300
    shares = means = 0
    for _ in range(times):
        values, person = records(rng, PEOPLE[people](rng))
        low, high = share_interval(values < stats.norm.ppf(share), person)
        shares += low <= share <= high
        interval = mean_interval(values, person)
        assert interval is not None
        means += interval[0] <= 0.0 <= interval[1]
    assert shares / times >= 0.92
    assert means / times >= 0.92


@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("people", PEOPLE)
def test_an_auc_is_covered_where_everybody_is_of_one_class(people: str, shift: float) -> None:
    rng, times = np.random.default_rng(1), 80 if people == "many" else 200
    truth, covered = stats.norm.cdf(shift / np.sqrt(2.0)), 0
    for _ in range(times):
        values, person = records(rng, PEOPLE[people](rng))
        positive = rng.permutation(np.arange(person[-1] + 1) % 5 < 2)[person]  # two of five people
        scores = values + shift * positive
        low, high = area_interval(auc(scores, positive), scores, positive, person)
        covered += low <= truth <= high
    assert covered / times >= 0.92


def test_records_taken_for_independent_are_not_covered_and_many_people_say_much() -> None:
    """Of 120 people the interval is no wider than it need be: the error between them times 1.96."""
    rng, naive, widths, found = np.random.default_rng(2), 0, [], []
    for _ in range(200):
        values, person = records(rng, np.full(120, 15))
        low, high = share_interval(values < 0.0)
        naive += low <= 0.5 <= high
        low, high = share_interval(values < 0.0, person)
        widths.append(high - low)
        found.append(np.mean(values < 0.0))
    assert naive / 200 < 0.75
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.std(found), rel=0.1)


def test_a_handful_of_people_tell_nearly_nothing() -> None:
    rng, widths = np.random.default_rng(3), {}
    for people in (4, 10):
        drawn = [records(rng, np.full(people, 15)) for _ in range(100)]
        widths[people] = np.mean([np.diff(share_interval(values < 0.4, who)) for values, who in drawn])
    assert widths[10] < 0.5 < widths[4]


def test_effective_groups_by_hand() -> None:
    """Of C equal groups all C. Of ½, ¼ and ¼: (1 + ⅓ + ⅓)² / ((1 + 1/9 + 1/9)² + 2 · 8/81) and one."""
    assert effective_groups(np.repeat(np.arange(7), 4)) == pytest.approx(7)
    assert effective_groups(np.array([5, 5, 1, 2])) == pytest.approx(1 + 225 / 137)
    assert effective_groups(np.stack(np.triu_indices(6, 1), axis=1)) == pytest.approx(6)
    assert effective_groups(None) is None
    assert effective_groups(np.array([3, 1, 2])) is None  # all independent
    assert effective_groups(np.zeros(5, dtype=int)) == 1.0
    assert effective_groups(np.array([[0, 1], [2, 0], [0, 3]])) == 1.0  # one is in every pair


def test_a_share_of_pairs_is_covered() -> None:
    """Whether a pair is told right depends on either person: all pairs of 30 people."""
    first, second = np.triu_indices(30, 1)
    pairs = np.stack([first, second], axis=1)
    rng = np.random.default_rng(3)
    truth = float(stats.norm.cdf(1.0))
    naive = clustered = 0
    for _ in range(300):
        own = rng.normal(size=30)
        values = 0.5 * (own[first] + own[second]) + np.sqrt(0.5) * rng.normal(size=len(pairs))
        low, high = share_interval(values < 1.0)
        naive += low <= truth <= high
        low, high = share_interval(values < 1.0, pairs)
        clustered += low <= truth <= high
    assert naive / 300 < 0.7
    assert 0.92 <= clustered / 300 <= 0.98


def test_an_auc_is_covered_where_everybody_has_records_of_both_classes() -> None:
    """As a smile has, which people now wear and now do not; then what is one's own tells nothing of it."""
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        values, person = records(rng, np.full(60, 10))
        positive = rng.random(600) < rng.beta(2.0, 2.0, 60)[person]  # some smile more than others
        low, high = area_interval(auc(values, positive), values, positive, person)
        covered += low <= 0.5 <= high
    assert 0.92 <= covered / 200 <= 1.0


def test_an_auc_over_folds_by_record_is_covered() -> None:
    """Each fold has a scale of its own, and records of one person are in several folds."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(150):
        values, person = records(rng, np.full(120, 15))
        positive, fold = person % 2 == 0, rng.permutation(np.arange(len(values)) % 5)
        scores = values * (1.0 + fold) + 10.0 * fold
        area = float(np.mean([auc(scores[fold == f], positive[fold == f]) for f in range(5)]))
        low, high = area_interval(area, scores, positive, person, fold)
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
    """Obuchowski's variance, of people with as many records, is that of so many independent samples, whose
    own is DeLong's."""
    rng = np.random.default_rng(6)
    person = np.repeat(np.arange(12), 5)
    positive = np.arange(60) % 5 < 2 if both else person % 3 == 0
    # Whoever has more positives has higher scores: what samples of a person have in common makes them one.
    own = rng.normal(size=12)
    scores = np.round(own[person] + 0.3 * rng.normal(size=60) + positive, 1)
    if both:
        scores = np.where(positive, 1.0, -1.0) * own[person] + 0.3 * rng.normal(size=60)
    *found, freedom = effective_counts(scores, positive, person)
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
    # Four people and eight as in Welch's test; or twelve of whom everybody is on both sides.
    apart = [part * n / eff for part, n, eff in zip(parts, (x, y), found, strict=True)]
    welch = sum(apart) ** 2 / (apart[0] ** 2 / 3 + apart[1] ** 2 / 7)
    assert freedom == pytest.approx(11 if both else welch)


def test_what_people_have_in_common_on_both_sides_makes_an_auc_no_surer_than_samples_do() -> None:
    """Whoever has high scores has them in both classes, which takes from the error of an AUC over people."""
    rng, person = np.random.default_rng(9), np.repeat(np.arange(30), 6)
    positive = np.arange(180) % 3 == 0
    scores = 2.0 * rng.normal(size=30)[person] + rng.normal(size=180) + positive
    assert obuchowski(scores, positive, person) < 0.5 * obuchowski(scores, positive, np.arange(180))
    assert effective_counts(scores, positive, person)[:2] == (60.0, 120.0)


def test_a_share_by_hand() -> None:
    """Three people with 2, 1 and 1 records; right are 1 of 2, 1 and 0: residuals 0, ½ and −½ by person, and
    4/2, 4/3 and 4/3 times as much where their records are left out."""
    right, person = np.array([True, False, True, False]), np.array([7, 7, 3, 9])
    left = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 225 / 137)) ** 2
    share, count = share_of(right, person)
    assert share == 0.5
    # (0² + ⅔² + ⅔²) · ⅔ is less than independent samples have, 4 · ¼ · 4/3.
    assert count == pytest.approx(4 * left)
    same = np.array([True, True, False, False])
    assert share_of(same, person)[1] == pytest.approx(
        4 / ((2.0**2 + 2 * (2 / 3) ** 2) * (2 / 3) / (4 / 3)) * left
    )


def test_pairs_by_hand() -> None:
    """Two pairs of the same two people are one witness, and pairs without people in common are two."""
    right = np.array([1.0, 1.0, 0.0, 0.0])
    apart = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    twice = np.array([[0, 1], [1, 0], [4, 5], [5, 4]])
    left = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, np.array([7, 3]))) ** 2
    # Eight people, each with a residual of ½ · 4/3, four pairs of which were counted twice; · 7/8.
    assert share_of(right, apart)[1] == pytest.approx(
        4 / ((8 - 4) * (2 / 3) ** 2 * 7 / 8 / (4 / 3)) * left[0]
    )
    # Four people with 1 · 4/2 each, two pairs of 1 · 4/2 too often; · 3/4: less than one sample, which it is.
    assert 4 / ((4 - 2) * 2.0**2 * 3 / 4 / (4 / 3)) < 1.0
    assert share_of(right, twice)[1] == pytest.approx(left[1])
    # Pairs of somebody with himself are so many samples, each of another.
    alone = np.array([[0, 0], [1, 1], [2, 2], [3, 3]])
    assert share_of(right, alone)[1] == pytest.approx(4 * left[1])


def test_the_mean_of_a_few_people_has_their_degrees_of_freedom() -> None:
    """A hundred like records of each of five people say what one of each would."""
    values = np.array([3.0, 1.0, 4.0, 1.5, 9.0])
    expected = stats.t.interval(0.95, 4, values.mean(), values.std(ddof=1) / np.sqrt(5))
    assert mean_interval(np.repeat(values, 100), np.repeat(np.arange(5), 100)) == pytest.approx(expected)


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
