"""Who is called a member at a false discovery rate: by hand, and over many draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from leakrange.metrics import Membership, measured
from leakrange.metrics.discoveries import Called, called_members, conformal_p

RATE, DRAWS = 0.2, 200
Caller = Callable[[NDArray[np.float64], NDArray[np.bool_], int], Called]


def test_p_values_worked_by_hand() -> None:
    known = np.array([0.1, 0.4, 0.4, 0.9])
    np.testing.assert_allclose(
        conformal_p(np.array([1.0, 0.9, 0.4, 0.2, 0.0]), known), [0.2, 0.4, 0.8, 0.8, 1.0]
    )


def by_the_procedure(scores: NDArray[np.float64], members: NDArray[np.bool_], seed: int) -> Called:
    return called_members(scores, members, RATE, seed)


def without_correction(scores: NDArray[np.float64], members: NDArray[np.bool_], seed: int) -> Called:
    """A broken wrapper: it calls whoever has a small p-value."""
    tested = called_members(scores, members, RATE, seed).tested
    return Called(tested, tested & (conformal_p(scores, scores[~tested]) <= RATE), members)


def with_chosen_others(scores: NDArray[np.float64], members: NDArray[np.bool_], seed: int) -> Called:
    """A broken wrapper: the others that the attacker knows are not drawn at random, but look least like
    members."""
    del seed
    tested = members | (scores > np.median(scores[~members]))
    p = conformal_p(scores[tested], scores[~tested])
    called = np.zeros(len(scores), dtype=bool)
    called[tested] = false_discovery_control(p) <= RATE
    return Called(tested, called, members)


def realised(
    caller: Caller, *, memory: float, members: int = 60, others: int = 240
) -> tuple[float, float, float]:
    """The mean share of others among the called over many draws, its standard error, and the mean power."""
    rng = np.random.default_rng(5)
    truth = np.arange(members + others) < members
    wrong, power = np.zeros(DRAWS), np.zeros(DRAWS)
    for seed in range(DRAWS):
        outcome = caller(rng.normal(size=len(truth)) + memory * truth, truth, seed)
        assert not (outcome.called & ~outcome.tested).any()
        wrong[seed] = (outcome.called & ~truth).sum() / max(outcome.called.sum(), 1)
        power[seed] = outcome.called[truth].mean()
    return float(wrong.mean()), float(wrong.std() / np.sqrt(DRAWS)), float(power.mean())


def test_no_more_of_the_called_are_others_than_was_asked_for() -> None:
    wrong, error, power = realised(by_the_procedure, memory=2.5)
    assert wrong <= RATE + 2 * error
    assert wrong > 0.5 * RATE  # else it would call too few
    assert power > 0.5


def test_where_nothing_leaks_hardly_anybody_is_called() -> None:
    wrong, error, power = realised(by_the_procedure, memory=0.0)
    assert wrong <= RATE + 2 * error
    assert power < 0.02


@pytest.mark.parametrize("broken", [without_correction, with_chosen_others])
def test_a_broken_wrapper_is_caught(broken: Caller) -> None:
    wrong, error, _ = realised(broken, memory=2.5)
    assert wrong > RATE + 4 * error


def test_others_of_one_group_are_known_or_tested_together_and_each_fold_has_a_scale_of_its_own() -> None:
    rng = np.random.default_rng(2)
    fold = np.arange(600) % 2
    group = np.arange(600) // 4
    members = group < 50
    scores = rng.normal(size=600) + 6.0 * members
    outcome = called_members(scores, members, RATE, seed=1, group=group, fold=fold)
    for each in np.unique(group):
        assert len(np.unique(outcome.tested[group == each])) == 1
    assert outcome.power > 0.95
    shifted = called_members(scores + 100.0 * fold, members, RATE, seed=1, group=group, fold=fold)
    np.testing.assert_array_equal(shifted.called, outcome.called)


def test_a_membership_report_says_how_many_are_called_and_how_many_of_them_are_right() -> None:
    rng = np.random.default_rng(3)
    members = np.arange(500) < 200
    scores = rng.normal(size=500) + 3.0 * members
    figures = {name: each.value for name, each in measured(Membership(scores, members, seed=4)).items()}
    outcome = called_members(scores, members, 0.1, seed=4)
    assert figures["called_at_fdr"] == outcome.called.sum() > 100
    assert figures["right_at_fdr"] == pytest.approx(members[outcome.called].mean())
    assert figures["power_at_fdr"] == pytest.approx(outcome.called[members].mean())
    flat = measured(Membership(np.zeros(500), members, seed=4))
    assert (flat["power_at_fdr"].value, flat["called_at_fdr"].value, "right_at_fdr" in flat) == (
        0.0,
        0.0,
        False,
    )


def test_too_few_others_and_pairs_of_people_have_no_such_figure() -> None:
    scores, members = np.arange(250.0), np.arange(250) >= 151
    names = {"power_at_fdr", "called_at_fdr", "right_at_fdr"}
    assert set(measured(Membership(scores, members))) >= names - {"right_at_fdr"}
    assert not names & set(measured(Membership(scores[60:], members[60:])))
    pairs = np.stack([np.arange(250), np.arange(250) + 1], axis=1)
    assert not names & set(measured(Membership(scores, members, pairs)))


def test_scores_that_are_no_numbers_and_a_single_other_are_refused() -> None:
    members = np.array([True, False, False])
    for scores, truth in (
        (np.full(3, np.nan), members),
        (np.zeros(3), ~members),
        (np.zeros(3), members & False),
    ):
        with pytest.raises(ValueError, match=r"finite|two others"):
            called_members(scores, truth)
