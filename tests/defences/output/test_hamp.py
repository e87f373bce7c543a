"""HAMP's outputs: the order of the classes stays, and nothing else does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from leakrange.attacks.membership.membership import MembershipEvidence
from leakrange.attacks.membership.shadows import LabelVotes
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.defences.output.chain import upper_bits

HAMP = Chain.parse(["hamp"])


def hamp(values: Any, release: Any = "softmax", **context: Any) -> NDArray[np.float32]:
    return HAMP.apply(np.asarray(values, dtype=np.float32), ReleaseContext(release=release, **context))


@pytest.mark.parametrize("release", ["softmax", "logits"])
def test_scores_fall_evenly_in_the_order_of_the_classes(release: str) -> None:
    answers = hamp([[0.1, 0.6, 0.3], [0.2, 0.2, 0.9]], release)
    np.testing.assert_allclose(answers, [[1 / 6, 3 / 6, 2 / 6], [2 / 6, 1 / 6, 3 / 6]], rtol=1e-6)


def test_each_attribute_has_scores_of_its_own() -> None:
    answers = hamp([[0.9, 0.1, 0.2, 0.5, 0.3]], heads=(2, 3))
    np.testing.assert_allclose(answers, [[2 / 3, 1 / 3, 1 / 6, 3 / 6, 2 / 6]], rtol=1e-6)


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9),
        elements=st.floats(-1e6, 1e6, width=32),
    )
)
def test_every_answer_is_the_same_scores_in_another_order(values: NDArray[np.float32]) -> None:
    answers = hamp(values, "logits")
    assert len(np.unique(np.sort(answers, axis=1), axis=0)) == 1
    np.testing.assert_allclose(answers.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(answers.argmax(axis=1), values.argmax(axis=1))
    entropy = -(answers[0] * np.log(answers[0])).sum()
    assert entropy >= math.log(values.shape[1]) - 0.3069  # ln 2 - 1/2 nats below the most, at worst, of many


def test_an_answer_carries_no_more_than_an_order() -> None:
    assert upper_bits(HAMP, "logits", 4) == pytest.approx(math.log2(24))


def test_who_counts_labels_sees_what_stands_undefended() -> None:
    draw = np.random.default_rng(4)
    observed, shadows = draw.normal(size=(6, 30, 3)), draw.normal(size=(4, 6, 30, 3))
    members = np.tile([[True], [False]], (2, 30))

    def scores(defended: bool) -> NDArray[np.float64]:
        seen, theirs = (
            hamp(each.reshape(-1, 3), "logits").reshape(each.shape) if defended else each.astype(np.float32)
            for each in (observed, shadows)
        )
        nobody = np.zeros((0, 3), np.float32)
        evidence = MembershipEvidence(
            observed=seen,
            labels=np.arange(30) % 3,
            shadows=theirs,
            members=members,
            population=nobody,
            population_labels=np.zeros(0, int),
            population_shadows=np.zeros((4, 0, 3), np.float32),
            release="logits",
        )
        return LabelVotes(LabelVotes.Parameters.model_validate({"mode": "online"})).score(evidence)

    np.testing.assert_array_equal(scores(defended=True), scores(defended=False))
    assert len(np.unique(scores(defended=True))) > 2
