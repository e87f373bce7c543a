"""What exceeds a control: against DeLong's variance written out with loops, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from leakrange.metrics import Ranking, auc, mean_auc, measured
from leakrange.metrics.controls import BesideBlind, BesideImputation, control_area, excess

Pair = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def paired(
    rng: np.random.Generator, sides: tuple[int, int], moved: tuple[float, float], alike: float, each: int = 1
) -> Pair:
    """Truth of so many negatives and positives, and two normal scores; ``each`` samples are one person's, who
    makes half of the variance."""
    truth = np.repeat([0, 1], sides)
    people = np.arange(len(truth)) // each
    cut = np.linalg.cholesky([[1.0, alike], [alike, 1.0]])
    own, noise = (rng.normal(size=(count, 2)) @ cut.T for count in (people.max() + 1, len(truth)))
    scores = noise if each == 1 else np.sqrt(0.5) * (noise + own[people])
    first, second = (scores + truth[:, np.newaxis] * moved).T
    return truth, first, second


def delong(pair: Pair) -> tuple[float, float]:
    """The difference of the two AUCs and its deviation (DeLong et al. 1988, Eq. 4 to 7), pair by pair."""
    truth, *scores = pair
    positive, negative = np.flatnonzero(truth == 1), np.flatnonzero(truth == 0)
    kernel = np.array(
        [
            [[float(x[i] > x[j]) + 0.5 * float(x[i] == x[j]) for j in negative] for i in positive]
            for x in scores
        ]
    )
    s10, s01 = np.cov(kernel.mean(axis=2)), np.cov(kernel.mean(axis=1))
    s = s10 / len(positive) + s01 / len(negative)
    areas = kernel.mean(axis=(1, 2))
    return float(areas[0] - areas[1]), float(np.sqrt(s[0, 0] + s[1, 1] - 2 * s[0, 1]))


def beside(pair: Pair, group: NDArray[np.int64] | None = None) -> BesideImputation:
    truth, first, second = pair
    return BesideImputation(Ranking(first, truth, group), Ranking(second, truth, group))


@pytest.mark.parametrize("alike", [-0.4, 0.0, 0.8])
def test_independent_victims_have_delongs_interval(alike: float) -> None:
    pair = paired(np.random.default_rng(3), (150, 90), (0.9, 0.5), alike)
    difference, deviation = delong(pair)
    found = excess(beside(pair))
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.value == pytest.approx(difference)
    assert (found.high - found.low) / (2 * 1.96 * deviation) == pytest.approx(1.0, abs=0.05)


def test_who_knows_nothing_leaves_the_auc_less_one_half() -> None:
    truth, scores, worse = paired(np.random.default_rng(4), (60, 30), (0.8, -1.5), 0.0)
    attack = Ranking(scores, truth)
    area = measured(attack)["auc"]
    for control in (np.zeros(90), worse):  # below chance is chance: nobody guesses against the odds
        found = BesideBlind(attack, Ranking(control, truth))
        figures = measured(found)
        assert list(figures) == ["blind_auc", "beyond_blind"]
        assert figures["blind_auc"].value == control_area(found) == 0.5
        beyond = figures["beyond_blind"]
        told = [each - 0.5 for each in (area.value, area.low, area.high) if each is not None]
        assert [beyond.value, beyond.low, beyond.high] == pytest.approx(told)


def test_an_attack_that_says_what_its_control_says_exceeds_it_by_nothing() -> None:
    truth, scores, _ = paired(np.random.default_rng(5), (40, 70), (1.0, 0.0), 0.0)
    found = excess(beside((truth, scores, scores)))
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("each", [1, 8])
def test_the_excess_is_covered_over_people(each: int) -> None:
    rng, moved = np.random.default_rng(6), (1.0, 0.5)
    one, other = stats.norm.cdf(np.array(moved) / np.sqrt(2))
    hits = naive = 0
    for _ in range(120):
        pair = paired(rng, (160, 80), moved, 0.6, each)
        for group in (np.arange(240) // each, None):
            found = excess(beside(pair, group))
            assert found is not None
            assert found.low is not None
            assert found.high is not None
            hit = found.low <= one - other <= found.high
            hits, naive = (hits, naive + hit) if group is None else (hits + hit, naive)
    assert 0.9 <= hits / 120 <= 0.99
    assert each == 1 or naive / 120 < 0.85


def placements(truth: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each sample adds to the AUC, of a sample variance, one by one."""
    found = np.empty(len(truth))
    for side, sign in ((1, 1.0), (0, -1.0)):
        own, others = np.flatnonzero(truth == side), scores[truth != side]
        shares = np.array(
            [sign * ((scores[i] > others).mean() + 0.5 * (scores[i] == others).mean()) for i in own]
        )
        found[own] = (shares - shares.mean()) / np.sqrt(len(own) * (len(own) - 1))
    return found


def test_over_people_the_interval_is_that_of_both_areas_as_they_vary_together() -> None:
    """Both scores share what is a person's own, and differ by sample: over people their difference varies
    little. Their intervals are longer below than above, the one's more so than the other's."""
    rng = np.random.default_rng(8)
    person = np.repeat(np.arange(50), 6)
    truth = (person % 3 == 0).astype(np.int64)
    own, noise = rng.normal(size=50)[person], rng.normal(size=300)
    first, second = own + 0.7 * noise + 2.4 * truth, own - 0.7 * noise + 0.9 * truth
    areas = [measured(Ranking(each, truth, person))["auc"] for each in (first, second)]
    (one, low, high), (other, least, most) = ((each.value, each.low, each.high) for each in areas)
    assert low is not None
    assert high is not None
    assert least is not None
    assert most is not None
    parts = [placements(truth, each) for each in (first, second)]
    apart, a, b = (np.bincount(person, each) for each in (parts[0] - parts[1], *parts))
    paired = np.sqrt((apart**2).sum() / ((a**2).sum() + (b**2).sum()))
    assert paired < 0.75
    found = excess(beside((truth, first, second), person))
    assert found is not None
    assert (found.low, found.high) == (
        pytest.approx(one - other - paired * np.hypot(one - low, most - other)),
        pytest.approx(one - other + paired * np.hypot(high - one, other - least)),
    )


def test_of_several_classes_it_is_the_mean_over_them() -> None:
    rng = np.random.default_rng(7)
    truth = rng.permutation(np.repeat([0, 1, 2], [70, 20, 30]))
    knows, guesses = (rng.normal(size=(120, 3)) + much * np.eye(3)[truth] for much in (1.5, 0.7))
    found = excess(BesideImputation(Ranking(knows, truth), Ranking(guesses, truth)))
    assert found is not None
    assert found.low is not None
    one, other = mean_auc(knows, truth), mean_auc(guesses, truth)
    assert one is not None
    assert other is not None
    assert found.value == pytest.approx(one - other)
    assert 0.0 < found.low < found.value


def test_each_fold_of_a_control_is_ranked_by_itself() -> None:
    """Its scores of two folds come from two fits: together they may rank the other way round."""
    truth, fold = np.tile([0, 1, 1], 20), np.repeat([0, 1], [24, 36])
    scores = np.where(fold == 0, truth + 5.0, -1.0 * truth)
    found = BesideImputation(Ranking(truth * 1.0, truth), Ranking(scores, truth, None, fold))
    assert control_area(found) == 0.5  # 1 in one fold, 0 in the other
    assert auc(scores, truth == 1) < 0.5


def test_a_control_whose_fold_lacks_a_side_is_not_known_and_nothing_exceeds_it() -> None:
    truth = np.tile([0, 1], 30)
    fold = np.where((np.arange(60) < 8) & (truth == 0), 0, 1)  # one fold of others alone
    found = BesideBlind(Ranking(truth * 1.0, truth), Ranking(truth * 1.0, truth, None, fold))
    assert control_area(found) == 0.5
    beyond = excess(found)
    assert beyond is not None
    assert beyond.value == 0.5
    assert beyond.low == pytest.approx(0.0, abs=0.02)  # an attack that knows all is not said to exceed it


def test_victims_of_one_class_have_neither_figure() -> None:
    alike = Ranking(np.arange(5.0), np.ones(5, dtype=int))
    assert measured(BesideImputation(alike, alike)) == {}
