"""The price of hiding an attribute: TAPPFL's Theorem 1 by hand, and against distributions known by heart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import wasserstein_distance_nd

from leakrange.metrics import Guesses, measured
from leakrange.metrics.federated import LocalAdversaries, Updates
from leakrange.metrics.representation import (
    Represented,
    advantage,
    conditional_errors,
    dependence,
    error_floor,
)

TRUTH = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
GUESSED = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0])


def test_devices_tell_of_their_adversaries_and_of_their_updates() -> None:
    """Shares are of the updates that were wanted: lost ones make refused ones no likelier."""
    found = measured(LocalAdversaries(0.7, 0.6, 1.3, 0.4), Updates(wanted=10, refused=2, lost=5))
    assert {name: estimate.value for name, estimate in found.items()} == pytest.approx(
        {
            "local_curiosity": 0.7,
            "local_nag": 0.25,
            "adversary_cross_entropy": 1.3,
            "kept_loss": 0.4,
            "updates_refused": 0.2,
            "updates_lost": 0.5,
        }
    )


def test_the_advantage_is_how_much_more_often_a_class_is_guessed_where_it_is_true() -> None:
    assert advantage(GUESSED, TRUTH) == pytest.approx(3 / 5 - 1 / 4)
    assert advantage(1 - GUESSED, 1 - TRUTH) == pytest.approx(3 / 5 - 1 / 4)
    assert advantage(1 - GUESSED, TRUTH) == pytest.approx(3 / 5 - 1 / 4)  # who is always wrong knows as much
    assert advantage(np.zeros(9, int), TRUTH) == 0.0
    assert advantage(TRUTH, TRUTH) == 1.0


def test_it_is_measured_of_two_classes_and_of_no_more() -> None:
    assert measured(Guesses(GUESSED, TRUTH, 2))["advantage"].value == pytest.approx(0.35)
    assert "advantage" not in measured(Guesses(GUESSED, TRUTH, 3))
    assert "advantage" not in measured(Guesses(GUESSED, np.zeros(9, int), 2))


def test_other_classes_than_two_are_refused() -> None:
    for wrong in ((GUESSED + 1, TRUTH), (GUESSED, TRUTH[1:])):
        with pytest.raises(ValueError, match="0 and 1"):
            dependence(*wrong)


def test_errors_are_summed_over_the_groups() -> None:
    target = np.array([0, 0, 1, 1, 1, 1, 1, 0, 0])
    decided = np.array([0, 1, 1, 1, 1, 0, 0, 0, 1])
    assert conditional_errors(decided, target, TRUTH) == pytest.approx(1 / 4 + 3 / 5)
    assert conditional_errors(np.full(9, 0.25), target, TRUTH) == pytest.approx(
        0.5 + (3 * 0.75 + 2 * 0.25) / 5
    )
    assert dependence(target, TRUTH) == pytest.approx(abs(2 / 4 - 3 / 5))
    assert conditional_errors(decided, target, np.ones(9, int)) is None


def test_the_floor_is_what_the_paper_says() -> None:
    assert error_floor(0.6, 0.1, norm=1.5, lipschitz=0.8) == pytest.approx(0.6 - 0.24)
    assert error_floor(0.2, 1.0, norm=3.0, lipschitz=2.0) < 0.0


@pytest.mark.parametrize("seed", range(6))
def test_no_head_errs_less_than_the_theorem_says(seed: int) -> None:
    """Users (u, y, r) are weighted points; the worst adversary is found among all functions of r, and heads
    among clipped linear ones, whose Lipschitz constant is the norm of their weights."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(5, 2)) * 0.4
    weight = rng.dirichlet(np.ones(20)).reshape(2, 2, 5)  # u, y, r
    given = weight.sum(axis=1) / weight.sum(axis=(1, 2))[:, None]  # of r, by u
    norm = float(np.linalg.norm(points, axis=1).max())
    worst = max(
        abs(given[1] @ np.array(guess) - given[0] @ np.array(guess))
        for guess in itertools.product((0, 1), repeat=5)
    )
    asked = weight[:, 1].sum(axis=1) / weight.sum(axis=(1, 2))
    apart = float(abs(asked[1] - asked[0]))
    # the two steps of its proof: the transport between both groups, and what it is at most
    assert wasserstein_distance_nd(points, points, given[0], given[1]) <= 2 * norm * worst + 1e-9
    for _ in range(300):
        slope = rng.normal(size=2) * rng.uniform(0.05, 5.0)
        head = np.clip(points @ slope + rng.uniform(-1, 2), 0.0, 1.0)
        for said, floor in (
            (head, error_floor(apart, worst, norm, float(np.linalg.norm(slope)))),
            (head, apart - worst),
            (np.round(head), apart - worst),
        ):
            wrong = weight * np.abs(np.array([0, 1])[:, None] - said)
            errors = float((wrong.sum(axis=(1, 2)) / weight.sum(axis=(1, 2))).sum())
            assert errors >= floor - 1e-12


def test_decisions_may_err_less_than_the_floor_of_probabilities() -> None:
    """A head of weight .001 gives probabilities near .5, and decides all rightly."""
    target = hidden = np.array([0, 0, 1, 1])
    soft = 0.5 + 0.001 * np.array([-1.0, -1.0, 1.0, 1.0])
    found = measured(Represented(target, soft.round().astype(int), hidden, hidden, 1.0, 0.001, soft))
    assert found["decision_errors"].value == 0.0
    assert found["decision_error_floor"].value == 0.0
    assert found["error_floor"].value == pytest.approx(0.998)
    assert found["soft_errors"].value == pytest.approx(0.998)


def test_its_figures_are_those_of_the_functions() -> None:
    target = np.array([0, 0, 1, 1, 1, 1, 1, 0, 0])
    decided = np.array([0, 1, 1, 1, 1, 0, 0, 0, 1])
    represented = Represented(target, decided, TRUTH, GUESSED, norm=2.0, lipschitz=0.1)
    found = {name: estimate.value for name, estimate in measured(represented).items()}
    assert found == pytest.approx(
        {
            "dependence": 0.1,
            "decision_errors": 0.85,
            "decision_error_floor": 0.1 - 0.35,
            "error_floor": 0.1 - 2 * 2.0 * 0.1 * 0.35,
            "representation_norm": 2.0,
            "head_lipschitz": 0.1,
        }
    )


def test_where_classes_are_more_or_the_head_is_unknown_less_is_said() -> None:
    many = Represented(TRUTH * 2, TRUTH, TRUTH, GUESSED, norm=2.0, lipschitz=0.1)
    assert set(measured(many)) == {"representation_norm", "head_lipschitz"}
    unknown = Represented(TRUTH, TRUTH, TRUTH, GUESSED, norm=2.0)
    assert set(measured(unknown)) == {
        "dependence", "decision_errors", "decision_error_floor", "representation_norm",
    }  # fmt: skip
