"""Output defences on verification distances: releases (B, 1) that a threshold decides on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from leakrange.defences.output import Chain, ReleaseContext

Scores = NDArray[np.float32]
scores = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 20), st.just(1)),
    elements=st.floats(0, 1000, width=32),
)


def release(spec: object, values: Scores, **context: object) -> Scores:
    return Chain.parse([spec]).apply(values, ReleaseContext(release="score", **context))  # type: ignore[arg-type]


@given(scores, st.integers(0, 4))
def test_rounding_moves_a_distance_by_half_a_step_and_keeps_order(values: Scores, decimals: int) -> None:
    rounded = release({"round": {"decimals": decimals}}, values)
    assert rounded.shape == values.shape
    step = 10.0**-decimals
    assert (np.abs(rounded.astype(float) - values) <= step / 2 + 1e-4).all()
    order = np.argsort(values[:, 0], kind="stable")
    assert (np.diff(rounded[order, 0]) >= 0).all()


@given(scores, st.integers(1, 4))
def test_significant_figures_are_relative(values: Scores, figures: int) -> None:
    rounded = release({"round": {"figures": figures}}, values).astype(float)
    assert (np.abs(rounded - values) <= values * 0.5 * 10.0 ** (1 - figures) * 1.001).all()


@given(scores, st.floats(0, 500), st.floats(0, 500))
def test_clipped_distances_lie_within(values: Scores, one: float, other: float) -> None:
    low, high = sorted((one, other))
    clipped = release({"clip": {"min": low, "max": high}}, values)
    assert (clipped >= np.float32(low)).all()
    assert (clipped <= np.float32(high)).all()
    inside = (values >= low) & (values <= high)
    np.testing.assert_array_equal(clipped[inside], values[inside])
    assert (release({"clip": {"norm": 1.0}}, values) <= 1.0 + 1e-6).all()


@given(scores, st.integers(0, 2**32))
def test_noise_is_of_each_distance_and_finite(values: Scores, seed: int) -> None:
    draw = np.random.default_rng(seed)
    noisy = release({"noise": {"scale": 0.5, "mode": "multiplicative"}}, values, draw=draw)
    assert noisy.shape == values.shape
    assert np.isfinite(noisy).all()
    assert (noisy[values == 0] == 0).all()  # N(x, ηx): a distance of 0 stays
    keyed = {"sticky_key": b"secret", "digests": [b"%d" % n for n in range(len(values))]}
    sticky, again = (release({"noise": {"scale": 0.5, "sticky": True}}, values, **keyed) for _ in range(2))
    np.testing.assert_array_equal(again, sticky)
    assert len(np.unique((sticky - values).round(3))) > len(values) / 2


def test_the_spread_of_noise_is_its_scale() -> None:
    values = np.full((20_000, 1), 2.0, np.float32)
    for spec, expected in (({"scale": 0.1}, 0.1), ({"scale": 0.1, "mode": "multiplicative"}, 0.2)):
        noisy = release({"noise": spec}, values, draw=np.random.default_rng(0))
        assert noisy.std() == pytest.approx(expected, rel=0.03)
        assert noisy.mean() == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("spec", ["argmax", {"top-k": 2}, {"temperature": 2}])
def test_what_means_nothing_on_a_distance_is_refused(spec: object) -> None:
    assert "score" in (Chain.parse([spec]).refuse("score") or "")
