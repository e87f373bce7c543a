"""The lower bound of ε from one training: by hand, by exact coverage, and on mechanisms of known privacy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom, norm

from leakrange.metrics import measured, tpr_at_fpr
from leakrange.metrics.one_run import (
    Canaries,
    chance_of_guesses,
    epsilon_of_gaussian_guesses,
    epsilon_of_guesses,
)


def test_the_chance_of_a_few_guesses_is_that_computed_by_hand() -> None:
    # two guesses at ε = 0: none, one or both are right with probabilities of 1/4, 1/2 and 1/4
    assert chance_of_guesses(1, 2, 10, 0.0, 0.01) == pytest.approx(3 / 4 + 2 * 10 * 0.01 * (1 / 4))
    assert chance_of_guesses(2, 2, 10, 0.0, 0.01) == pytest.approx(1 / 4 + 2 * 10 * 0.01 * (1 / 2))
    # and at e^ε = 3, where a guess is right with probability 3/4: 1/16, 6/16 and 9/16
    assert chance_of_guesses(2, 2, 10, math.log(3), 0.01) == pytest.approx(9 / 16 + 2 * 10 * 0.01 * (6 / 16))
    assert chance_of_guesses(0, 5, 5, 2.0, 0.0) == 1.0
    # ten right guesses of ten: q^10 = 1/20
    share = 20 ** (-1 / 10)
    wanted = math.log(share / (1 - share))
    assert epsilon_of_guesses(10, 10, 10, 0.0) == pytest.approx(wanted, abs=2e-4)
    assert epsilon_of_guesses(10, 10, 10, 1e-3) < wanted - 1e-3
    assert epsilon_of_guesses(6, 10, 10, 0.0) == 0.0
    for numbers in ((-1, 4, 4), (5, 4, 4), (4, 4, 3)):
        with pytest.raises(ValueError, match="no more"):
            chance_of_guesses(*numbers, 1.0, 0.0)


@pytest.mark.parametrize(("epsilon", "guesses"), [(0.5, 400), (2.0, 150), (4.0, 300)])
def test_randomised_response_is_never_passed_more_often_than_in_one_of_twenty(
    epsilon: float, guesses: int
) -> None:
    right = 1 / (1 + math.exp(-epsilon))
    passed = [
        correct
        for correct in range(guesses + 1)
        if epsilon_of_guesses(correct, guesses, guesses, 0.0) > epsilon
    ]
    chance = float(binom.pmf(passed, guesses, right).sum())
    assert 0.01 < chance <= 0.05


def responses(
    rng: np.random.Generator, count: int, epsilon: float, delta: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores of randomised response, and the coins. With probability δ a coin is given away."""
    coins = rng.random(count) < 0.5
    told = coins ^ (rng.random(count) > 1 / (1 + math.exp(-epsilon)))
    given_away = rng.random(count) < delta
    scores = np.where(given_away, 3.0 * np.where(coins, 1, -1), np.where(told, 1, -1))
    return scores + 0.01 * rng.random(count), coins


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 0.0), (1.0, 1e-3)])
def test_the_best_of_several_numbers_of_guesses_keeps_to_its_level(epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(7)
    bounds = [
        Canaries(*responses(rng, 120, epsilon, delta), epsilon, delta).epsilon or 0.0 for _ in range(120)
    ]
    assert sum(bound > epsilon for bound in bounds) <= 6
    assert sum(bound > epsilon / 2.5 for bound in bounds) > 30


def test_a_known_mechanism_is_nearly_reached() -> None:
    rng = np.random.default_rng(3)
    bounds = [Canaries(*responses(rng, 4000, 2.0)).epsilon for _ in range(3)]
    assert all(bound is not None and 1.7 < bound < 2.1 for bound in bounds)


def test_who_is_sure_of_few_abstains_on_the_others() -> None:
    rng = np.random.default_rng(1)
    coins = rng.random(800) < 0.5
    sure = np.arange(800) < 120  # the coins of 120 are given away, of the others nothing is known
    scores = np.where(sure, np.where(coins, 9.0, -9.0), rng.random(800))
    bound = Canaries(scores, coins).epsilon
    everybody = Canaries(scores, coins)
    assert bound is not None
    assert bound > 2.8
    correct = int(coins[np.argsort(-scores)[:400]].sum() + (~coins[np.argsort(-scores)[400:]]).sum())
    assert epsilon_of_guesses(correct, 800, 800, 1e-5) < 0.6
    assert measured(everybody)["exposed_auc"].value < 0.7


def test_scores_that_say_nothing_bound_nothing_and_few_canaries_have_no_bound() -> None:
    rng = np.random.default_rng(5)
    coins = rng.random(600) < 0.5
    assert Canaries(rng.random(600), coins).epsilon == 0.0
    few = measured(Canaries(rng.random(19), coins[:19], promised=1.0))
    assert set(few) == {"epsilon_promised", "exposed_auc"}
    assert Canaries(rng.random(19), coins[:19]).viewed({}) == {}
    assert measured(Canaries(np.ones(30), np.ones(30, dtype=bool))).keys() == {
        "epsilon_found",
        "epsilon_gaussian",
    }


def epsilon_of_noise(mu: float) -> float:
    """The exact ε of one release with Gaussian noise, for δ = 1e-5 (Balle and Wang 2018)."""
    return float(
        brentq(lambda e: norm.cdf(mu / 2 - e / mu) - math.exp(e) * norm.cdf(-mu / 2 - e / mu) - 1e-5, 0, 30)
    )


@pytest.mark.parametrize("mu", [0.5, 1.0])
def test_gaussian_noise_is_never_passed_and_half_of_it_is_seen_by_many_canaries(mu: float) -> None:
    rng = np.random.default_rng(2)
    promised = epsilon_of_noise(mu)
    for _ in range(5):
        coins = rng.random(2000) < 0.5
        noise = rng.normal(size=2000)
        sound = Canaries(mu * coins + noise, coins, promised)
        assert sound.epsilon is not None
        assert sound.gaussian is not None
        assert 0.2 * promised < sound.epsilon < sound.gaussian < promised
        assert sound.gaussian > 0.4 * promised
        assert sound.holds == 1.0
    many = rng.random(12_000) < 0.5
    half = Canaries(mu * many + 0.5 * rng.normal(size=12_000), many, promised)
    assert half.holds == 0.0


def test_the_bound_of_gaussian_noise_is_that_computed_by_hand() -> None:
    """Two right guesses of two: first `wrong` becomes Φ(Φ⁻¹(right) − μ), and `right` grows by as much; then
    `wrong` becomes that of the new `right`. The two add up to one at the μ that is sought."""

    def passed(mu: float) -> float:
        right = 0.4 + norm.cdf(norm.ppf(0.4) - mu)
        return float(right + norm.cdf(norm.ppf(right) - mu) - 1.0)

    mu = brentq(passed, 0.0, 3.0)
    assert epsilon_of_gaussian_guesses(2, 2, 2, 1e-5, 0.4) == pytest.approx(epsilon_of_noise(mu), abs=2e-3)
    assert epsilon_of_gaussian_guesses(1, 2, 2, 1e-5, 0.2) == 0.0


def test_a_promise_is_judged_by_both_bounds_and_shown_with_them() -> None:
    coins = np.arange(100) % 2 == 0
    told = Canaries(coins.astype(float), coins, promised=1.0, delta=1e-6)
    assert measured(told)["promise_holds"].value == 0.0
    assert told.viewed({"noise": 0.5, "steps": 7, "clip": 1.0})["promise"] == {
        "found": told.epsilon, "gaussian": told.gaussian, "promised": 1.0, "delta": 1e-6, "canaries": 100,
        "noise": 0.5, "rate": None, "steps": 7,
    }  # fmt: skip
    assert measured(Canaries(told.scores, coins, promised=50.0))["promise_holds"].value == 1.0
    assert "promise_holds" not in measured(Canaries(told.scores, coins))


def test_exposed_records_have_the_figures_of_their_own_curve() -> None:
    rng = np.random.default_rng(4)
    coins = rng.random(500) < 0.5
    scores = rng.normal(size=500) + 2.0 * coins
    figures = measured(Canaries(scores, coins))
    assert figures["exposed_tpr_at_001"].value == tpr_at_fpr(scores, coins, 0.01)
    assert figures["exposed_auc"].low is not None
    few = measured(Canaries(scores[:150], coins[:150]))
    assert "exposed_tpr_at_001" not in few
