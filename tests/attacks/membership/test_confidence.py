"""How sure a model is of a record's class, from logits and from what defences leave of a soft output."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, logit, softmax

from leakrange.attacks.membership.membership import FLOOR, log_confidence, scaled_logit
from leakrange.wire.errors import InvalidInput


def test_worked_by_hand() -> None:
    soft, labels = np.array([[0.8, 0.2], [0.25, 0.75]]), np.array([0, 0])
    np.testing.assert_allclose(log_confidence(soft, labels, "softmax"), np.log([0.8, 0.25]))
    np.testing.assert_allclose(scaled_logit(soft, labels, "softmax"), np.log([4.0, 1 / 3]))


def test_agrees_with_scipy_on_logits_and_on_soft_outputs() -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(scale=3, size=(4, 50, 7)), rng.integers(0, 7, 50)
    expected = log_softmax(logits, axis=-1)[:, np.arange(50), labels]
    np.testing.assert_allclose(log_confidence(logits, labels, "logits"), expected)
    np.testing.assert_allclose(scaled_logit(logits, labels, "logits"), logit(np.exp(expected)), rtol=1e-6)
    soft = softmax(logits, axis=-1)
    np.testing.assert_allclose(log_confidence(soft, labels, "softmax"), expected, atol=1e-4)


def test_confidence_that_a_float_calls_certain_is_still_told_apart() -> None:
    logits = np.array([[200.0, 0.0, 0.0], [900.0, 0.0, 0.0], [0.0, 900.0, 0.0]])
    phi = scaled_logit(logits, np.zeros(3, dtype=int), "logits")
    np.testing.assert_allclose(phi, [200 - np.log(2), 900 - np.log(2), -900])


def test_what_a_defence_left_is_read_as_the_distribution_that_it_can_be() -> None:
    label_only = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=np.float32)
    sure, wrong = scaled_logit(label_only, np.zeros(2, dtype=int), "softmax")
    assert sure == pytest.approx(np.log(1 / (2 * FLOOR)))
    assert wrong == pytest.approx(np.log(FLOOR / (1 + FLOOR)))
    noisy = np.array([[0.9, -0.2, 0.6]])  # adds up to 1.3, and has a negative value
    assert log_confidence(noisy, np.array([0]), "softmax")[0] == pytest.approx(np.log(0.9 / (1.5 + FLOOR)))


def test_soft_outputs_of_a_sure_model_tell_what_its_logits_do() -> None:
    """In the floats that are released, down to the least that these hold with all digits."""
    logits = np.array([[17.0, 0.0, 1.0], [40.0, 3.0, 0.0], [0.0, 60.0, 5.0], [86.0, 0.0, 0.0]])
    labels = np.zeros(4, dtype=int)
    soft = softmax(logits, axis=-1).astype(np.float32)
    for read in (scaled_logit, log_confidence):
        np.testing.assert_allclose(
            read(soft, labels, "softmax"), read(logits, labels, "logits"), rtol=1e-6, atol=1e-7
        )


def test_what_a_float_cannot_hold_is_read_as_the_least_that_was_released() -> None:
    releases = np.array([[1.0, 1e-30], [1.0, 0.0], [0.0, 1.0]])
    phi = scaled_logit(releases, np.zeros(3, dtype=int), "softmax")
    np.testing.assert_allclose(phi, np.log([1e30, 1e30, 1e-30]))
    # of another model that released no such value a zero is what a defence has left
    both = np.stack([releases, np.maximum(releases, [[0.0, 1e-3]])])
    np.testing.assert_allclose(
        scaled_logit(both, np.zeros(3, dtype=int), "softmax")[1], np.log([1e3, 1e3, FLOOR])
    )


@pytest.mark.parametrize(
    ("releases", "labels", "kind"),
    [
        (np.ones((2, 3)), np.array([0, 3]), "logits"),
        (np.ones((2, 3)), np.array([0, -1]), "logits"),
        (np.ones((2, 3)), np.array([0]), "logits"),
        (np.full((1, 3), np.nan), np.array([0]), "softmax"),
        (np.ones((1, 3)), np.array([0]), "features"),
    ],
)
def test_what_cannot_be_read_is_refused(releases: np.ndarray, labels: np.ndarray, kind: str) -> None:
    with pytest.raises(InvalidInput):
        scaled_logit(releases, labels, kind)
