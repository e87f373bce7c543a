"""A verdict says no more than figures allow: against hand-computed intervals, and over drawn figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from leakrange.metrics import Estimate, Ranking, auc_interval, measured
from leakrange.metrics.clusters import effective_count_of_mean
from leakrange.metrics.verdict import Reached, judge, spread

Z = 1.959963984540054


def around(value: float, half: float) -> Estimate:
    return Estimate.within(value, (value - half, value + half))


def area(value: float, positives: int, negatives: int) -> Estimate:
    """An AUC less one half."""
    low, high = auc_interval(value, positives, negatives)
    return Estimate(value=value - 0.5, low=low - 0.5, high=high - 0.5)


def word(*estimates: Estimate, among: int | None = None, unsigned: bool = True) -> str:
    found = spread(estimates)
    mean = sum(each.value for each in estimates) / len(estimates)
    return judge([Reached(mean, found, unsigned=unsigned)], among).word


def test_one_trial_has_its_own_interval() -> None:
    found = spread([Estimate(value=0.1, low=0.04, high=0.18)])
    assert found is not None
    assert found.within() == pytest.approx((0.04, 0.18))
    wide = stats.norm.ppf(1 - 0.05 / 12)
    assert found.within(0.05 / 6) == pytest.approx((0.1 - 0.06 / Z * wide, 0.1 + 0.08 / Z * wide))


def test_seeds_add_their_own_variance_to_that_of_the_samples() -> None:
    """By hand: errors of 0.02/z below and 0.03/z above, and a deviation of 0.01 over two seeds."""
    found = spread([Estimate(value=0.2 + d, low=0.18 + d, high=0.23 + d) for d in (-0.01, 0.01)])
    assert found is not None
    seeds = 0.02**2 / 2 / 2
    below, above = (0.02 / Z) ** 2, (0.03 / Z) ** 2
    freedom = (((below + above) / 2 + seeds) / seeds) ** 2
    times = stats.t.ppf(0.975, freedom)
    low, high = 0.2 - times * math.sqrt(below + seeds), 0.2 + times * math.sqrt(above + seeds)
    # both trials end before that: at 0.19 − 0.02 and 0.21 + 0.03
    assert low < 0.17
    assert high > 0.24
    assert found.within() == pytest.approx((0.17, 0.24))
    assert found.freedom == pytest.approx(freedom)
    assert (found.below, found.above) == pytest.approx((math.sqrt(below + seeds), math.sqrt(above + seeds)))


def test_without_intervals_it_is_students_t() -> None:
    found = spread([Estimate(value=value) for value in (0.1, 0.14, 0.21)])
    assert found is not None
    low, high = stats.t.interval(0.95, 2, 0.15, stats.sem([0.1, 0.14, 0.21]))
    assert found.within() == pytest.approx((low, high))
    assert spread([Estimate(value=0.3)]) is None
    assert spread([Estimate(value=0.0), Estimate(value=0.0)]) is None  # equal, and nothing is certain
    assert spread([]) is None


@pytest.mark.parametrize(
    ("estimates", "expected"),
    [
        ([around(0.2, 0.05)], "leaks"),
        ([around(-0.2, 0.05)], "leaks"),
        ([around(0.06, 0.05)], "leaks"),
        ([around(0.02, 0.01)], "none"),  # certain, and little
        ([around(0.04, 0.05)], "none"),
        ([around(0.04, 0.07)], "unclear"),
        ([around(-0.04, 0.07)], "unclear"),
        ([around(0.2, 0.05), around(0.3, 0.05)], "leaks"),
        ([around(0.2, 0.05), around(0.0, 0.05)], "unclear"),
        ([around(0.0, 0.02)] * 3, "none"),
        ([Estimate(value=0.3)], "unclear"),
    ],
)
def test_a_verdict_takes_an_interval_that_ends_where_it_should(
    estimates: list[Estimate], expected: str
) -> None:
    assert word(*estimates) == expected


def test_less_than_a_control_is_no_leak() -> None:
    """Whoever knows less than the true label tells knows nothing by that."""
    assert word(around(-0.2, 0.05), unsigned=False) == "none"
    certain = spread([around(0.03, 0.01)])
    chance = spread([around(0.04, 0.05)])
    assert Reached(0.03, certain).least(0.05) > 0
    assert Reached(0.03, certain, chance).least(0.05) < 0  # beyond its control, and not beyond chance


def test_the_strongest_of_many_takes_more() -> None:
    assert word(around(0.08, 0.07)) == "leaks"
    assert word(around(0.08, 0.07), among=2) == "unclear"
    assert word(around(0.2, 0.07), among=20) == "leaks"


def test_constant_attacks_neither_decide_nor_count() -> None:
    constant = Reached(0.0, None, unsigned=True, constant=True)
    clear, leak = Reached(0.01, spread([around(0.01, 0.03)])), Reached(0.08, spread([around(0.08, 0.07)]))
    assert (judge([constant]).word, judge([constant]).why) == ("unclear", "constant")
    assert (judge([constant, clear]).word, judge([constant, leak]).word) == ("none", "leaks")
    assert judge([leak, clear]).word == "unclear"
    assert constant.strength < Reached(-0.4, spread([around(-0.4, 0.9)])).strength


def test_all_attacks_decide_and_not_the_strongest_alone() -> None:
    """One that goes less far may be certain, and one that hardly went anywhere may have been able to."""
    far, near = Reached(0.3, spread([around(0.3, 0.4)])), Reached(0.1, spread([around(0.1, 0.05)]))
    assert judge([far, near]).word == "leaks"
    little, vague = Reached(0.05, spread([around(0.05, 0.04)])), Reached(0.02, spread([around(0.02, 0.2)]))
    found = judge([little, vague], among=9)
    assert (found.word, found.most) == ("unclear", pytest.approx(0.22))


@pytest.mark.parametrize(("attacks", "seeds", "people"), [(1, 1, 60), (6, 1, 60), (4, 3, 200)])
def test_where_nothing_leaks_it_is_said_to_in_one_of_twenty_runs_at_most(
    attacks: int, seeds: int, people: int
) -> None:
    """Scores of all attacks are drawn alone, and each seed has its own."""
    rng = np.random.default_rng([attacks, seeds, people])
    truth, runs, leaks = np.arange(people) % 4 == 0, 200, 0
    for _ in range(runs):
        found = []
        for _ in range(attacks):
            figures = [area(_area(rng.normal(size=people), truth), *_sides(truth)) for _ in range(seeds)]
            far = sum(each.value for each in figures) / seeds
            found.append(Reached(far, spread(figures), unsigned=True))
        leaks += judge(found).word == "leaks"
    assert leaks / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)


def _sides(truth: NDArray[np.bool_]) -> tuple[int, int]:
    return int(truth.sum()), int((~truth).sum())


def _area(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    positives, negatives = _sides(truth)
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    return float(ranks[truth].sum() - positives * (positives + 1) / 2) / positives / negatives


def test_the_interval_of_a_mean_auc_covers_it() -> None:
    """Three classes of 8, 40 and 72 samples, and scores that tell a little: the true area is that of very
    many samples."""
    rng, labels = np.random.default_rng(3), np.repeat([0, 1, 2], [8, 40, 72])

    def drawn(labels: NDArray[np.int_]) -> Estimate:
        scores = rng.normal(size=(len(labels), 3)) + 0.6 * np.eye(3)[labels]
        found = measured(Ranking(scores, labels))
        assert "constant" not in found
        return found["auc"]

    truth = drawn(np.repeat([0, 1, 2], 8000)).value
    covered = [
        each.low <= truth <= each.high
        for each in (drawn(labels) for _ in range(150))
        if each.low and each.high
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.04)


def test_two_classes_vary_as_delong_says() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], [90, 40])
    ranks = rng.normal(size=130) + 0.8 * labels
    count = effective_count_of_mean(np.stack([-ranks, ranks], axis=1), labels)
    above = ranks[labels == 1][:, None] > ranks[labels == 0][None, :]
    variance = above.mean(axis=1).var(ddof=1) / 40 + above.mean(axis=0).var(ddof=1) / 90
    value = above.mean()
    inner = 1 + (count - 1) * ((1 - value) / (2 - value) + value / (1 + value))
    assert value * (1 - value) * inner / count**2 == pytest.approx(variance)


def test_copies_of_samples_tell_no_more_than_one() -> None:
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1, 2], [30, 40, 50])
    scores = rng.normal(size=(120, 3)) + 0.5 * np.eye(3)[labels]
    alone = effective_count_of_mean(scores, labels)
    people = np.tile(np.arange(120), 5)
    assert effective_count_of_mean(np.tile(scores, (5, 1)), np.tile(labels, 5), people) == pytest.approx(
        alone, rel=0.05
    )
    assert effective_count_of_mean(np.tile(scores, (5, 1)), np.tile(labels, 5)) > 4 * alone


def test_a_mean_auc_of_a_few_people_has_their_degrees_of_freedom() -> None:
    """Five like samples of each of twelve people say what one of each would, on eleven degrees of freedom."""
    rng, labels = np.random.default_rng(4), np.repeat([0, 1, 2], 4)
    scores = rng.normal(size=(12, 3)) + np.eye(3)[labels]
    found = effective_count_of_mean(
        np.repeat(scores, 5, axis=0), np.repeat(labels, 5), np.repeat(range(12), 5)
    )
    left = (Z / stats.t.ppf(0.975, 11)) ** 2
    assert found == pytest.approx(effective_count_of_mean(scores, labels) * left)


@pytest.mark.parametrize("classes", [2, 3])
def test_constant_scores_are_told_and_have_no_interval(classes: int) -> None:
    labels = np.arange(60) % classes
    found = measured(Ranking(np.full((60, classes), 0.3), labels))
    assert (found["constant"].value, found["auc"].value, found["auc"].low) == (1.0, 0.5, None)
    scores = np.full((60, classes), 0.3)
    scores[7, 0] = 0.31
    assert measured(Ranking(scores, labels))["auc"].low is not None


def test_scores_that_are_constant_in_each_fold_are_constant() -> None:
    fold, truth = np.repeat([0, 1], 20), np.arange(40) % 2 == 0
    assert "constant" in measured(Ranking(fold.astype(float), truth, fold=fold))
    assert "constant" not in measured(Ranking(fold.astype(float), truth))
