"""Laplace noise on samples of all kinds."""

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


def noisy(samples: Any, spec: SampleSpec, seed: int = 0, **parameters: float) -> Any:
    chain = DefenceChain.parse([{"laplace-input": parameters}])
    assert not chain.deterministic
    return chain.obfuscate(samples, spec, np.random.default_rng(seed))


@given(spec=st.sampled_from(SPECS), seed=st.integers(0, 9), epsilon=st.floats(0.01, 100))
def test_samples_of_any_kind_stay_of_their_kind(spec: SampleSpec, seed: int, epsilon: float) -> None:
    samples = some(spec, seed, 3)
    before = samples.copy()
    result = noisy(samples, spec, seed, epsilon=epsilon)
    assert (result.shape, result.dtype) == (samples.shape, np.dtype(spec.dtype))
    assert np.isfinite(result).all()
    np.testing.assert_array_equal(samples, before)
    np.testing.assert_array_equal(noisy(samples, spec, seed, epsilon=epsilon), result)


@pytest.mark.parametrize(
    ("parameters", "scale"),
    [({"epsilon": 4.0}, 0.5), ({"epsilon": 0.5, "sensitivity": 3.0}, 6.0)],
)
def test_its_scale_is_sensitivity_over_epsilon_in_units_of_what_the_net_is_given(
    parameters: dict[str, float], scale: float
) -> None:
    noise = noisy(np.zeros((4000, 2), np.float32), TABLE, **parameters) / np.array([10.0, 0.5])
    for column in noise.T:
        assert stats.kstest(column, stats.laplace(scale=scale).cdf).pvalue > 0.01


def test_what_leaves_the_range_of_a_pixel_is_cut_and_not_wrapped() -> None:
    black = np.zeros((1, 20, 20, 1), np.uint8)
    result = noisy(black, SampleSpec.picture(20, 20, 1), epsilon=20.0)
    assert 0.4 < (result == 0).mean() < 0.6
    assert result.max() < 200


def test_a_bare_value_is_epsilon_and_none_at_all_is_refused() -> None:
    assert DefenceChain.parse([{"laplace-input": 2}]).spec() == [
        {"laplace-input": {"epsilon": 2.0, "sensitivity": 2.0}}
    ]
    for bad in ({}, {"epsilon": 0}, {"epsilon": 1, "sensitivity": -1}):
        with pytest.raises(InvalidChain, match=r"epsilon|sensitivity"):
            DefenceChain.parse([{"laplace-input": bad}])
