"""Normalising: back on the sphere, back on the simplex, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.wire.errors import InvalidInput

Array = NDArray[np.float32]

rows = hnp.arrays(
    np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-1e3, 1e3, width=32)
)


def apply(spec: list[Any], values: Array, release: Any) -> Array:
    return Chain.parse(spec).apply(values, ReleaseContext(release=release, draw=np.random.default_rng(0)))


@given(values=rows)
def test_features_get_length_1_and_keep_their_direction(values: Array) -> None:
    result = apply(["normalise"], values, "features").astype(float)
    length = np.linalg.norm(values.astype(float), axis=1)
    np.testing.assert_array_equal(result[length == 0], 0)
    there = length > 0
    np.testing.assert_allclose(result[there], values[there] / length[there, None], rtol=1e-5, atol=1e-7)


@given(values=rows)
def test_a_softmax_lies_on_the_simplex_again_with_the_proportions_of_what_was_positive(values: Array) -> None:
    result = apply(["normalise"], values, "softmax").astype(float)
    positive = np.maximum(values.astype(float), 0)
    total = positive.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / values.shape[1])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-7)


def test_the_papers_defence_is_noise_and_then_normalise() -> None:
    chain = [{"noise": {"scale": 5.0, "mode": "multiplicative"}}, "normalise"]
    softmax = np.random.default_rng(1).dirichlet(np.ones(20), size=50).astype(np.float32)
    noisy = apply(chain, softmax, "softmax")
    np.testing.assert_allclose(noisy.sum(axis=1), 1, rtol=1e-5)
    assert (noisy >= 0).all()
    assert np.abs(noisy - softmax).max() > 0.1
    features = np.random.default_rng(2).normal(size=(50, 16)).astype(np.float32)
    np.testing.assert_allclose(np.linalg.norm(apply(chain, features, "features"), axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("release", ["logits", "score", "sample"])
def test_what_has_no_norm_of_its_own_is_refused(release: Any) -> None:
    with pytest.raises(InvalidInput, match="normalise means nothing"):
        apply(["normalise"], np.zeros((2, 3), dtype=np.float32), release)
