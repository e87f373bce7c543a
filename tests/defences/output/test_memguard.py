"""MemGuard: where it moves answers to, what it keeps, and whom it does not deceive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.wire.errors import InvalidInput

Array = NDArray[np.float32]


def guard(values: Any, **parameters: Any) -> Array:
    chain = Chain.parse([{"memguard": parameters}])
    return chain.apply(np.asarray(values, dtype=np.float32), ReleaseContext(release="softmax"))


def test_answers_move_to_where_the_classifier_says_a_half() -> None:
    """It takes a sample for a member from 0.6 on: one is flattened, the other made surer."""
    moved = guard([[0.9, 0.07, 0.03], [0.1, 0.5, 0.4]], weights=[2.0], bias=-1.2)
    np.testing.assert_allclose(moved, [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]], atol=1e-6)


def test_the_second_greatest_counts_by_its_own_weight() -> None:
    moved = guard([[0.7, 0.2, 0.1]], weights=[1.0, -2.0], bias=0.0).astype(float)
    falling = np.sort(moved, axis=1)[:, ::-1]
    assert falling @ [1.0, -2.0, 0.0] == pytest.approx(0.0, abs=1e-6)


def test_no_answer_moves_farther_than_its_distortion() -> None:
    """The first is 0.6 away from (0.6, 0.2, 0.2), and goes a sixth of the way; the second gets there."""
    moved = guard([[0.9, 0.07, 0.03], [0.62, 0.22, 0.16]], weights=[2.0], bias=-1.2, distortion=0.1)
    by_hand = [[0.85, 0.07 + 0.13 / 6, 0.03 + 0.17 / 6], [0.6, 0.2, 0.2]]
    np.testing.assert_allclose(moved, by_hand, atol=1e-6)


shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7)
logits = hnp.arrays(np.float32, shapes, elements=st.floats(-20, 20, width=32))
weights = st.lists(st.floats(-50, 50), min_size=1, max_size=9)


@given(logits, weights, st.floats(-50, 50), st.floats(0.01, 2))
def test_the_label_stays_and_the_classifier_is_never_surer(
    values: Array, weights: list[float], bias: float, distortion: float
) -> None:
    answers = softmax(values, axis=1).astype(np.float32)
    moved = guard(answers, weights=weights, bias=bias, distortion=distortion)
    np.testing.assert_array_equal(moved.argmax(axis=1), answers.argmax(axis=1))
    np.testing.assert_allclose(moved.sum(axis=1), answers.sum(axis=1), atol=1e-5)
    assert (moved >= 0.0).all()
    assert (np.abs(moved - answers).sum(axis=1) <= distortion + 1e-5).all()
    padded = np.zeros(answers.shape[1])
    padded[: len(weights)] = weights[: len(padded)]
    before, after = (
        np.abs(-np.sort(-each.astype(float), axis=1) @ padded + bias) for each in (answers, moved)
    )
    assert (after <= before + 1e-4 * (1.0 + np.abs(padded).sum())).all()


def planted(seed: int) -> tuple[Array, NDArray[np.bool_]]:
    """Answers about 400 members, of which a model is sure, and 400 others."""
    draw = np.random.default_rng(seed)
    members = np.arange(800) < 400
    scores = draw.normal(size=(800, 5))
    scores[np.arange(800), draw.integers(0, 5, 800)] += np.where(members, 7.0, 2.0)
    return softmax(scores, axis=1).astype(np.float32), members


def test_a_classifier_that_was_fitted_on_shadow_models_is_deceived_and_labels_are_not() -> None:
    shadows, truth = planted(1)
    fitted = LogisticRegression(max_iter=2000).fit(-np.sort(-shadows, axis=1), truth)
    answers, members = planted(2)
    moved = guard(answers, weights=fitted.coef_[0].tolist(), bias=float(fitted.intercept_[0]), distortion=2.0)

    def says(values: Array) -> NDArray[np.float64]:
        return np.asarray(fitted.decision_function(-np.sort(-values, axis=1)))

    assert roc_auc_score(members, says(answers)) > 0.9
    np.testing.assert_allclose(expit(says(moved)), 0.5, atol=1e-4)
    np.testing.assert_array_equal(moved.argmax(axis=1), answers.argmax(axis=1))
    assert len(np.unique(np.sort(moved, axis=1).round(5), axis=0)) == 1  # nothing but the label is told


def test_a_classifier_that_always_says_the_same_moves_nothing() -> None:
    answers, _ = planted(3)
    np.testing.assert_array_equal(guard(answers, weights=[0.0], bias=1.0), answers)


@pytest.mark.parametrize(
    "parameters",
    [
        {"weights": [1.0]},
        {"weights": [], "bias": 0.0},
        {"weights": [float("nan")], "bias": 0.0},
        {"weights": [1.0], "bias": float("inf")},
        {"weights": [1.0], "bias": 0.0, "distortion": 0.0},
    ],
    ids=str,
)
def test_parameters_that_cannot_be(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="memguard"):
        Chain.parse([{"memguard": parameters}])


def test_logits_go_through_a_softmax_first() -> None:
    guarded = {"memguard": {"weights": [1.0], "bias": -0.9}}
    assert "memguard means nothing on a logits release" in str(Chain.parse([guarded]).refuse("logits"))
    assert Chain.parse(["softmax", guarded]).refuse("logits") is None
