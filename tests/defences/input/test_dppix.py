"""DPPix: coarse pixels with Laplace noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leakrange.defences.chain import DefenceChain
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.defences.input.conftest import SPECS, some


def shown(samples: Any, seed: int = 0, **parameters: float) -> Any:
    spec = SampleSpec.picture(*samples.shape[1:])
    return DefenceChain.parse([{"dppix": parameters}]).obfuscate(samples, spec, np.random.default_rng(seed))


@given(
    height=st.integers(1, 9),
    breadth=st.integers(1, 9),
    channels=st.sampled_from([1, 3]),
    block=st.integers(1, 12),
    epsilon=st.floats(0.01, 1e6),
)
def test_pictures_stay_pictures_of_flat_squares(
    height: int, breadth: int, channels: int, block: int, epsilon: float
) -> None:
    samples = some(SampleSpec.picture(height, breadth, channels), height, 2)
    before = samples.copy()
    result = shown(samples, epsilon=epsilon, block=block)
    assert (result.shape, result.dtype) == (samples.shape, np.uint8)
    np.testing.assert_array_equal(samples, before)
    np.testing.assert_array_equal(result, shown(samples, epsilon=epsilon, block=block))
    for row in range(0, height, block):
        for column in range(0, breadth, block):
            square = result[:, row : row + block, column : column + block]
            assert (square == square[:, :1, :1]).all()


def test_a_square_is_the_mean_of_its_pixels_where_there_is_hardly_noise() -> None:
    picture = np.array([[0, 10, 200], [20, 30, 100], [7, 9, 250]], np.uint8)[None, :, :, None]
    result = shown(picture, epsilon=1e9, block=2)[0, :, :, 0]
    np.testing.assert_array_equal(result, [[15, 15, 150], [15, 15, 150], [8, 8, 250]])


def test_the_scale_of_the_noise_is_255_m_over_the_pixels_and_epsilon() -> None:
    grey = np.full((3000, 6, 6, 1), 128, np.uint8)
    result = shown(grey, epsilon=20.0, block=4, neighbours=3).astype(float) - 128
    for corner, pixels in ((result[:, 0, 0, 0], 16), (result[:, 0, 5, 0], 8), (result[:, 5, 5, 0], 4)):
        expected = stats.laplace(scale=255 * 3 / (pixels * 20))
        found = np.abs(corner).mean()  # of a Laplace distribution that is its scale
        assert found == pytest.approx(expected.std() / 2**0.5, rel=0.08)
        assert np.corrcoef(corner, result[:, 1, 4, 0])[0, 1] == pytest.approx(float(pixels == 8), abs=0.08)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.encoding != "picture"])
def test_other_samples_are_refused(spec: SampleSpec) -> None:
    chain = DefenceChain.parse([{"dppix": 1.0}])
    assert not chain.deterministic
    with pytest.raises(InvalidInput, match=f"dppix: it takes picture, not {spec.encoding}"):
        chain.obfuscate(some(spec, 0, 2), spec, np.random.default_rng(0))
