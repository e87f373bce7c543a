"""How often anybody can be right, against SciPy and against adversaries who know a distribution by heart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import entropy

from leakrange.metrics import Estimate, Ranking, measured
from leakrange.metrics.entropy import surprise
from leakrange.metrics.equivocation import FEWEST, accuracy_bound, fewest_errors, loose_accuracy_bound


def joint(seed: int, classes: int, releases: int) -> np.ndarray:
    """A distribution over (class, release); the more concentrated, the lower the seed."""
    return (
        np.random.default_rng(seed)
        .dirichlet(np.full(classes * releases, 0.1 + 0.1 * seed))
        .reshape(classes, -1)
    )


def left(table: np.ndarray) -> float:
    """H(u|r) in bits."""
    return float(entropy(table.ravel(), base=2) - entropy(table.sum(axis=0), base=2))


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.71, 0.999])
def test_fanos_inequality_is_solved_for_the_errors(classes: int, share: float) -> None:
    bits = share * np.log2(classes)
    expected = brentq(
        lambda e: entropy([e, 1 - e], base=2) + e * np.log2(classes - 1) - bits,
        0.0,
        1.0 - 1.0 / classes,
        xtol=1e-14,
    )
    assert fewest_errors(bits, classes) == pytest.approx(expected, abs=1e-9)


def test_of_two_classes_it_is_the_inverse_of_the_binary_entropy() -> None:
    for errors in (0.01, 0.11, 0.35):
        assert fewest_errors(entropy([errors, 1 - errors], base=2)) == pytest.approx(errors)
    # H₂(.11) = .4999: who lacks half a bit is right 89 % of the time at most (TAPPFL prints .930)
    assert accuracy_bound(0.5) == pytest.approx(0.88997, abs=1e-5)
    assert loose_accuracy_bound(0.5) == pytest.approx(1 - 0.5 / (2 * np.log2(12)), abs=1e-12)


def test_who_knows_all_or_nothing_is_bounded_by_it() -> None:
    assert (accuracy_bound(0.0), loose_accuracy_bound(0.0)) == (pytest.approx(1.0), 1.0)
    assert accuracy_bound(1.0) == pytest.approx(0.5)
    assert accuracy_bound(1.4) == 0.5
    assert accuracy_bound(np.log2(7), 7) == pytest.approx(1 / 7)
    assert loose_accuracy_bound(1.0) == loose_accuracy_bound(1.4) == pytest.approx(0.80657, abs=1e-5)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(8))
def test_no_adversary_is_right_more_often_than_the_theorem_says(classes: int, seed: int) -> None:
    """Of all functions of a release the one that guesses the likeliest class is right most often."""
    table = joint(seed, classes, 6)
    best, bits = float(table.max(axis=0).sum()), left(table)
    assert best <= accuracy_bound(bits, classes) + 1e-12
    if classes == 2:
        assert accuracy_bound(bits) <= loose_accuracy_bound(bits)


def test_the_tight_bound_is_reached_where_every_release_leaves_as_much_unknown() -> None:
    table = np.stack([[0.8, 0.2], [0.2, 0.8]]) * np.array([0.3, 0.7])
    assert accuracy_bound(left(table)) == pytest.approx(0.8)
    three = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    assert accuracy_bound(left(three / 3), 3) == pytest.approx(0.8)


def test_the_printed_form_is_none_of_more_than_two_classes() -> None:
    """TAPPFL's Eq. 18 takes what is wrong for what is right; of six classes its bound is below the truth."""
    table = np.full((6, 6), 0.1) + 0.4 * np.eye(6)
    bits = left(table / 6)
    assert bits > 2.0
    assert accuracy_bound(bits, 6) + 1e-12 >= 0.5
    assert 1 - bits / (2 * np.log2(6 / bits)) < 0.5


@pytest.mark.parametrize("wrong", [(-0.1, 2), (float("nan"), 2), (0.5, 1)])
def test_impossible_bits_are_refused(wrong: tuple[float, int]) -> None:
    with pytest.raises(ValueError, match="possible"):
        fewest_errors(*wrong)


def drawn(table: np.ndarray, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes, and of each sample all classes' probabilities given its release."""
    rng = np.random.default_rng(seed)
    place = rng.choice(table.size, count, p=table.ravel())
    truth, release = np.divmod(place, table.shape[1])
    return truth, release, (table / table.sum(axis=0)).T[release]


@pytest.mark.parametrize("classes", [2, 4])
def test_of_the_true_probabilities_the_surprise_is_the_equivocation(classes: int) -> None:
    table = joint(6, classes, 8)
    truth, _, soft = drawn(table, 20_000)
    assert left(table) > 0.4
    assert surprise(soft, truth).mean() == pytest.approx(left(table), abs=0.02)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda soft: soft**9 / (soft**9).sum(axis=1, keepdims=True),  # far too sure
        lambda soft: 0.01 * np.log(soft) - 7.0,  # no probabilities
        lambda soft: np.log(soft) * 1e6 + np.array([0.0, 3e6]),  # huge, and biased
    ],
)
def test_scores_that_are_not_calibrated_say_as_much(spoil: object) -> None:
    table = joint(7, 2, 8)
    truth, _, soft = drawn(table, 20_000)
    spoilt = spoil(soft)  # type: ignore[operator]
    assert surprise(spoilt, truth).mean() == pytest.approx(surprise(soft, truth).mean(), abs=1e-3)


def test_scores_that_tell_nothing_leave_all_unknown_and_gain_nothing_by_heart() -> None:
    rng = np.random.default_rng(2)
    truth = (rng.random(300) < 0.3).astype(int)
    found = measured(Ranking(rng.random((300, 2)).astype(np.float32), truth))
    share = truth.mean()
    assert found["equivocation"].value == pytest.approx(entropy([share, 1 - share], base=2), abs=0.02)
    assert found["accuracy_bound"].value == pytest.approx(1 - share, abs=0.03)


def test_what_calibration_learns_by_heart_it_is_not_judged_by() -> None:
    rng = np.random.default_rng(3)
    told = [surprise(rng.normal(size=(60, 15)), rng.integers(0, 15, 60)).mean() for _ in range(20)]
    assert np.mean(told) > np.log2(15)


def test_unknown_classes_and_scores_without_end_are_borne() -> None:
    truth = np.array([0, 1] * 50)
    scores = np.full((100, 3), -np.inf)
    scores[np.arange(100), truth] = 1.0
    assert surprise(scores, truth).mean() < 0.1
    assert surprise(np.zeros((100, 3)), truth).mean() == pytest.approx(1.0, abs=0.05)


def test_an_attack_is_bounded_by_what_its_scores_leave_unknown() -> None:
    table = np.stack([[0.8, 0.2], [0.2, 0.8]]) * np.array([0.3, 0.7])
    truth, _, soft = drawn(table, 4000)
    found = measured(Ranking(soft, truth))
    assert found["equivocation"].value == pytest.approx(left(table), abs=0.03)
    assert found["accuracy_bound"].value == pytest.approx(0.8, abs=0.02)
    assert found["loose_accuracy_bound"].value == pytest.approx(loose_accuracy_bound(left(table)), abs=0.01)
    bound = found["accuracy_bound"]
    assert isinstance(bound, Estimate)
    assert bound.low is not None
    assert bound.high is not None
    assert 0.77 < bound.low < bound.value < bound.high < 0.83


def test_of_few_samples_of_groups_and_of_membership_there_is_no_estimate() -> None:
    truth, _, soft = drawn(joint(7, 2, 8), FEWEST)
    names = {"equivocation", "accuracy_bound", "loose_accuracy_bound"}
    assert names <= set(measured(Ranking(soft, truth)))
    assert not names & set(measured(Ranking(soft[1:], truth[1:])))
    assert not names & set(measured(Ranking(soft, truth, group=np.arange(FEWEST))))
    assert not names & set(measured(Ranking(soft[:, 1], truth)))
    with pytest.raises(ValueError, match="same samples"):
        surprise(soft[1:], truth)
