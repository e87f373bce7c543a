"""Normalised accuracy gains against figures that PASS prints, and against hand-computed ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from leakrange.metrics import measured
from leakrange.metrics.entropy import information_bound
from leakrange.metrics.intervals import wilson_interval
from leakrange.metrics.probing import Probed, ProbedAttribute, gain, noise_of

PRINTED = [
    # accuracy, majority and undefended accuracy, and the NAG that stands beside them (PASS, Tables 7 and 14)
    (54.0, 16.7, 97.1, 46.4),
    (76.7, 68.3, 98.6, 27.6),
    (82.8, 57.0, 98.0, 62.9),
    (57.0, 57.0, 98.0, 0.0),
]


@pytest.mark.parametrize(("accuracy", "majority", "undefended", "printed"), PRINTED)
def test_gains_are_those_that_the_paper_prints(
    accuracy: float, majority: float, undefended: float, printed: float
) -> None:
    found = gain(accuracy / 100, majority / 100, undefended / 100)
    assert found is not None
    assert 100 * found == pytest.approx(printed, abs=0.2)  # from rounded accuracies


def test_a_gain_is_not_negative_and_may_exceed_one() -> None:
    assert gain(0.2, 0.5, 0.9) == 0.0
    assert gain(0.95, 0.5, 0.9) == pytest.approx(1.125)


def test_nothing_is_gained_where_samples_tell_nothing() -> None:
    assert gain(0.7, 0.5, 0.5) is None
    assert gain(0.7, 0.5, 0.4) is None


def test_a_lead_that_may_be_luck_is_not_shared_out() -> None:
    """Three points above the commonest class, and an interval that reaches below it: 2 or 7 points of another
    accuracy would be a gain of .67 or 2.3."""
    assert gain(0.52, 0.5, 0.53, at_least=0.499) is None
    assert gain(0.52, 0.5, 0.53, at_least=0.501) == pytest.approx(2 / 3)


def attribute(name: str, role: str, accuracy: float, **more: float) -> ProbedAttribute:
    return ProbedAttribute(
        name,
        role,
        accuracy,
        undefended=more.pop("undefended", 0.9),
        majority=0.5,
        **more,  # type: ignore[arg-type]
    )


PROBED = Probed(
    [
        attribute("s", "private", 0.6, protector=0.52, bits=0.3, panel_auc=0.6),
        attribute("t", "private", 0.7, protector=0.56, bits=0.1, panel_auc=0.8),
        attribute("u", "useful", 0.88, unfinetuned=0.66),
        attribute("g", "general", 0.58),
        attribute("h", "general", 0.5, undefended=0.5),
    ]
)


def test_roles_have_gains_of_their_own() -> None:
    found = {name: estimate.value for name, estimate in measured(PROBED).items()}
    assert found == pytest.approx(
        {
            "private_nag": 0.375,
            "useful_nag": 0.95,
            "general_nag": 0.2,
            "mnag": (0.95 + 0.2) / 2 - 0.375,
            "unfinetuned_nag": 0.4,
            "protector_nag": 0.1,
            "private_bits": 0.2,
            "private_panel_auc": 0.7,
        }
    )


def test_without_useful_attributes_there_is_no_mean_over_them() -> None:
    found = measured(Probed(PROBED.of("private")))
    assert set(found) == {"private_nag", "protector_nag", "private_bits", "private_panel_auc"}


def test_the_bound_is_the_entropy_less_the_cross_entropy() -> None:
    draw = np.random.default_rng(3)
    truth = draw.choice(3, 400, p=[0.6, 0.3, 0.1])
    said = draw.dirichlet([1.0, 1.0, 1.0], 400) + 3.0 * np.eye(3)[truth]
    said /= said.sum(axis=1, keepdims=True)
    share = np.bincount(truth) / 400
    expected = (-(share * np.log(share)).sum() - log_loss(truth, said)) / np.log(2)
    assert 0.3 < expected < 1.29
    assert information_bound(said, truth) == pytest.approx(expected)


def test_who_is_surely_right_tells_the_entropy_and_who_is_surely_wrong_nothing() -> None:
    truth = np.array([0, 0, 0, 1])
    assert information_bound(np.eye(2)[truth], truth) == pytest.approx(0.8113, abs=1e-4)
    assert information_bound(np.eye(2)[1 - truth], truth) == 0.0


@pytest.mark.parametrize("truth", [np.array([0, 2]), np.array([0]), np.zeros(0, dtype=int)])
def test_classes_that_do_not_fit_are_refused(truth: np.ndarray) -> None:
    with pytest.raises(ValueError, match="classes"):
        information_bound(np.full((2, 2), 0.5), truth)


@pytest.mark.parametrize(("successes", "others"), [(180, 120), (30, 250), (299, 100)])
def test_the_noise_of_an_accuracy_follows_from_the_interval_of_another(successes: int, others: int) -> None:
    """Against the interval that the same number of samples gives it by itself."""
    low, high = wilson_interval(others, 300)
    wanted = 1.96 * math.sqrt(successes / 300 * (1 - successes / 300) / 300)
    assert noise_of(successes / 300, others / 300, low, high) == pytest.approx(wanted, rel=0.05)
    assert noise_of(0.5, 1.0, 0.96, 1.0) == pytest.approx(0.02)
