"""The noisy vote: what it counts, what it refuses, and what it promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.defences.output.chain import upper_bits
from leakrange.defences.output.noisy_vote import epsilon_of, price_of
from leakrange.wire.errors import InvalidInput


def vote(values: Any, sigma: float, release: Any = "softmax", voters: int = 10) -> NDArray[np.float32]:
    chain = Chain.parse([{"noisy-vote": {"voters": voters, "sigma": sigma}}])
    context = ReleaseContext(release=release, draw=np.random.default_rng(5))
    return chain.apply(np.asarray(values, dtype=np.float32), context)


def test_with_little_noise_the_class_of_most_votes_wins() -> None:
    shares = np.array([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])
    winners = [[0, 1, 0], [1, 0, 0]]
    assert vote(shares, 0.01).tolist() == winners
    assert vote(np.log(np.maximum(shares, 1e-12)) + 3.0, 0.01, "logits").tolist() == winners


@pytest.mark.parametrize("sigma", [0.7, 3.0])
def test_a_class_wins_as_often_as_the_noise_on_each_count_says(sigma: float) -> None:
    """Of two classes, 6 votes to 4: where the difference of two normal draws is above -2."""
    times = 40_000
    won = vote(np.tile([0.6, 0.4], (times, 1)), sigma)[:, 0].mean()
    expected = norm.cdf(2.0 / (sigma * math.sqrt(2.0)))
    assert abs(won - expected) < 5.0 * math.sqrt(expected * (1.0 - expected) / times)


def test_a_repeat_draws_afresh_and_the_winner_alone_gets_out() -> None:
    chain = Chain.parse([{"noisy-vote": {"voters": 10, "sigma": 40}}])
    assert not chain.deterministic
    answers = vote(np.tile([0.2, 0.5, 0.3], (200, 1)), 40.0)
    assert set(answers.argmax(axis=1).tolist()) == {0, 1, 2}
    assert set(np.unique(answers).tolist()) == {0.0, 1.0}
    assert upper_bits(chain, "softmax", 8) == 3.0


@pytest.mark.parametrize(
    "values",
    [[[0.23, 0.77]], [[0.9, 0.2]], [[1.1, -0.1]], [[0.3, 0.3, 0.3]], [[0.5, 0.5], [0.2, 0.45]]],
    ids=str,
)
def test_what_is_no_vote_of_so_many_models_is_refused(values: Any) -> None:
    with pytest.raises(InvalidInput, match="not the votes of 10 models") as refused:
        vote(values, 1.0)
    assert "honest/ensemble" in str(refused.value.hint)


def divergence(order: float, sigma: float) -> float:
    """The largest Renyi divergence between winners of two classes whose votes differ by one voter's."""
    deviation = sigma * math.sqrt(2.0)
    here, there = np.arange(-101, 100, 2) / deviation, np.arange(-99, 102, 2) / deviation
    logs = [order * norm.logcdf(side * here) + (1.0 - order) * norm.logcdf(side * there) for side in (1, -1)]
    return float(np.logaddexp(*logs).max() / (order - 1.0))


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_two_neighbours_are_as_near_as_proposition_8_says(order: float) -> None:
    """And noise of half the size breaks it, so this would tell."""
    sigma = 5.0
    price = Chain.parse([{"noisy-vote": {"voters": 101, "sigma": sigma}}]).price
    assert price == pytest.approx(1.0 / 25.0)
    assert divergence(order, sigma) <= order * price
    assert divergence(order, sigma / 2.0) > order * price


def test_only_a_vote_that_comes_first_has_a_price() -> None:
    noisy = {"noisy-vote": {"voters": 10, "sigma": 2}}
    prices = [
        Chain.parse(chain).price for chain in ([], ["argmax"], [noisy, {"round": 1}], [{"round": 1}, noisy])
    ]
    assert prices == [math.inf, math.inf, 0.25, math.inf]


@pytest.mark.parametrize(("sigma", "answers"), [(40.0, 1000), (100.0, 286), (10.0, 5)])
def test_epsilon_is_near_an_independent_accountant_and_above_it(sigma: float, answers: int) -> None:
    ours = epsilon_of(answers / sigma**2, 1e-5)
    orders = np.linspace(1.01, 400.0, 40_000)
    by_theorem_5 = (orders * answers / sigma**2 + math.log(1e5) / (orders - 1.0)).min()
    assert ours == pytest.approx(by_theorem_5, rel=1e-4)
    accountant = RdpAccountant()
    accountant.compose(dp_event.GaussianDpEvent(sigma / math.sqrt(2.0)), answers)
    theirs = accountant.get_epsilon(1e-5)
    assert theirs <= ours <= 1.3 * theirs


@given(st.floats(1e-6, 1000), st.floats(1e-12, 0.5))
def test_what_an_epsilon_can_pay_costs_that_epsilon(epsilon: float, delta: float) -> None:
    assert epsilon_of(price_of(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {"voters": 10},
        {"voters": 1, "sigma": 1},
        {"voters": 10, "sigma": 0},
        {"voters": 10, "sigma": math.nan},
    ],
)
def test_parameters_that_cannot_be(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="noisy-vote"):
        Chain.parse([{"noisy-vote": parameters}])
