"""Snow on pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leakrange.defences.chain import DefenceChain
from leakrange.defences.stages import InvalidChain
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.defences.input.conftest import SPECS, some


@given(
    height=st.integers(1, 9),
    breadth=st.integers(1, 9),
    channels=st.sampled_from([1, 3]),
    share=st.floats(0.01, 1.0),
)
def test_a_pixel_is_grey_in_all_channels_or_as_it_was(
    height: int, breadth: int, channels: int, share: float
) -> None:
    spec = SampleSpec.picture(height, breadth, channels)
    samples = some(spec, height, 2)
    before = samples.copy()
    result = DefenceChain.parse([{"snow": share}]).obfuscate(samples, spec, np.random.default_rng(1))
    assert (result.shape, result.dtype) == (samples.shape, np.uint8)
    np.testing.assert_array_equal(samples, before)
    assert ((result == 127).all(axis=-1) | (result == samples).all(axis=-1)).all()


def test_the_share_is_that_of_the_covered_pixels() -> None:
    white = np.full((20, 30, 40, 3), 255, np.uint8)
    chain = DefenceChain.parse([{"snow": 0.3}])
    draw = np.random.default_rng(0)
    result = chain.obfuscate(white, SampleSpec.picture(30, 40, 3), draw)
    covered = int((result[..., 0] == 127).sum())
    assert stats.binomtest(covered, 24_000, 0.3).pvalue > 0.01
    again = chain.obfuscate(white, SampleSpec.picture(30, 40, 3), draw)
    assert not chain.deterministic
    assert (again != result).any()


def test_other_samples_and_shares_are_refused() -> None:
    spec = SPECS[3]
    with pytest.raises(InvalidInput, match="snow: it takes picture, not series"):
        DefenceChain.parse([{"snow": 0.5}]).obfuscate(some(spec, 0, 2), spec, np.random.default_rng(0))
    for share in (0.0, 1.1):
        with pytest.raises(InvalidChain, match="share"):
            DefenceChain.parse([{"snow": share}])
