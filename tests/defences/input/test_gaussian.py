"""Noise on samples: what it promises whatever the samples are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leakrange.defences.chain import DefenceChain
from leakrange.defences.stages import InvalidChain
from leakrange.wire.samples import SampleSpec
from tests.defences.input.conftest import SPECS, TABLE, some


def noisy(samples: Any, spec: SampleSpec, sigma: float, seed: int = 0) -> Any:
    chain = DefenceChain.parse([{"gaussian-input": sigma}])
    return chain.obfuscate(samples, spec, np.random.default_rng(seed))


@given(
    spec=st.sampled_from(SPECS), seed=st.integers(0, 9), count=st.integers(1, 4), sigma=st.floats(0.01, 100)
)
def test_samples_of_any_kind_stay_of_their_kind(
    spec: SampleSpec, seed: int, count: int, sigma: float
) -> None:
    samples = some(spec, seed, count)
    before = samples.copy()
    result = noisy(samples, spec, sigma, seed)
    assert result.shape == samples.shape
    assert result.dtype == samples.dtype == spec.dtype
    assert np.isfinite(result).all()
    np.testing.assert_array_equal(samples, before)
    np.testing.assert_array_equal(noisy(samples, spec, sigma, seed), result)  # the draw decides alone
    assert not np.array_equal(noisy(samples, spec, 1.0, seed), noisy(samples, spec, 1.0, seed + 1))


def test_sigma_is_in_units_of_what_the_net_is_given() -> None:
    rows = np.zeros((4000, 2), np.float32)
    noise = noisy(rows, TABLE, 0.3) / np.array([10.0, 0.5])
    for column in noise.T:
        assert stats.kstest(column, stats.norm(scale=0.3).cdf).pvalue > 0.01


def test_what_leaves_the_range_of_a_pixel_is_cut_and_not_wrapped() -> None:
    spec = SampleSpec.picture(20, 20, 1)
    white = np.full((1, 20, 20, 1), 255, np.uint8)
    result = noisy(white, spec, 0.2)
    share = (result == 255).mean()
    assert 0.4 < share < 0.6  # half of the noise is upwards
    assert result.min() > 127  # wrapped around, it would be near black


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), 1e9])
def test_a_deviation_is_positive_and_no_nonsense(sigma: float) -> None:
    with pytest.raises(InvalidChain, match="sigma"):
        DefenceChain.parse([{"gaussian-input": sigma}])
