"""Calibrated noise: as much as the stated privacy needs, no less, and no more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from leakrange.defences.output import Chain, InvalidChain, ReleaseContext
from leakrange.defences.output.noise import gaussian_delta, gaussian_sigma


def profile(sigma: float, epsilon: float, sensitivity: float) -> float:
    """δ of the Gaussian mechanism as the definition has it: by how much the privacy loss L, which is normal
    with mean η = Δ²/2σ² and variance 2η, exceeds ε: P(L > ε) − e^ε·P(−L > ε)."""
    eta = sensitivity**2 / (2 * sigma**2)
    deviation = np.sqrt(2 * eta)
    return float(
        stats.norm.sf(epsilon, eta, deviation) - np.exp(epsilon + stats.norm.logcdf(-epsilon, eta, deviation))
    )


def bisected(epsilon: float, delta: float, sensitivity: float) -> float:
    def excess(log_ratio: float) -> float:
        return profile(math.exp(log_ratio), epsilon, 1.0) - delta

    return sensitivity * math.exp(optimize.brentq(excess, math.log(1e-6), math.log(1e9), xtol=1e-9))


@given(
    epsilon=st.floats(1e-3, 1e3),
    exponent=st.floats(-9, -0.05),
    sensitivity=st.floats(1e-3, 1e3),
)
@settings(deadline=None, max_examples=50)
def test_sigma_is_the_root_of_the_privacy_profile_as_scipy_finds_it(
    epsilon: float, exponent: float, sensitivity: float
) -> None:
    delta = 10.0**exponent
    assert gaussian_sigma(epsilon, delta, sensitivity) == pytest.approx(
        bisected(epsilon, delta, sensitivity), rel=1e-6
    )


@given(epsilon=st.floats(1e-2, 500), exponent=st.floats(-9, -0.05))
def test_the_promise_is_kept_and_one_per_mille_less_noise_breaks_it(epsilon: float, exponent: float) -> None:
    delta = 10.0**exponent
    sigma = gaussian_sigma(epsilon, delta, 1.0)
    assert gaussian_delta(sigma, epsilon) <= delta
    assert gaussian_delta(sigma * 0.999, epsilon) > delta


@given(epsilon=st.floats(1e-3, 400), factor=st.floats(1.01, 2), exponent=st.floats(-8, -1))
def test_more_privacy_takes_more_noise(epsilon: float, factor: float, exponent: float) -> None:
    delta = 10.0**exponent
    assert gaussian_sigma(epsilon, delta, 1.0) > gaussian_sigma(epsilon * factor, delta, 1.0)
    assert gaussian_sigma(epsilon, delta / factor, 1.0) > gaussian_sigma(epsilon, delta, 1.0)


def test_it_adds_less_than_the_classical_mechanism() -> None:
    for epsilon in (0.1, 0.5, 1.0):
        assert gaussian_sigma(epsilon, 1e-5, 1.0) < np.sqrt(2 * np.log(1.25e5)) / epsilon


def test_the_least_private_pair_of_inputs_is_told_apart_as_seldom_as_delta_says() -> None:
    """Two opposite answers at the norm bound; the best event for an attacker, counted."""
    epsilon, delta = 1.0, 0.05
    context = ReleaseContext(release="score", draw=np.random.default_rng(0))
    count = 400_000
    ends = [
        Chain.parse([{"calibrated-noise": {"epsilon": epsilon, "delta": delta, "clip": 2.0}}]).apply(
            np.full((count, 1), side, dtype=np.float32), context
        )
        for side in (9.0, -9.0)  # clipped to 2 and −2
    ]
    sigma = gaussian_sigma(epsilon, delta, 4.0)
    above = epsilon * sigma**2 / 4.0  # where the likelihood ratio is e^ε
    seen = np.mean(ends[0] > above) - np.exp(epsilon) * np.mean(ends[1] > above)
    assert seen == pytest.approx(delta, abs=0.006)


@pytest.mark.parametrize("sticky", [False, True])
def test_the_noise_on_clipped_values_has_that_deviation(sticky: bool) -> None:
    values = np.zeros((400, 50), dtype=np.float32)
    values[:, 0], values[:, 1] = 30.0, 40.0
    spec: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-5, "clip": 0.5, "sticky": sticky}
    context = ReleaseContext(
        release="features",
        draw=np.random.default_rng(1),
        sticky_key=b"k",
        digests=[i.to_bytes(4, "big") for i in range(400)],
    )
    released = Chain.parse([{"calibrated-noise": spec}]).apply(values, context).astype(float)
    clipped = np.zeros(50)
    clipped[:2] = 0.3, 0.4
    noise = (released - clipped).ravel()
    assert stats.kstest(noise, stats.norm(scale=bisected(2.0, 1e-5, 1.0)).cdf).pvalue > 0.01


def test_sticky_answers_to_one_query_are_one_answer_and_fresh_ones_are_not() -> None:
    values = np.zeros((1, 8), dtype=np.float32)

    def answers(sticky: bool) -> int:
        chain = Chain.parse([{"calibrated-noise": {"epsilon": 1.0, "sticky": sticky}}])
        assert (chain.deterministic, chain.needs_digests) == (sticky, sticky)
        context = ReleaseContext(release="features", sticky_key=b"k", digests=[b"q"])
        return len({chain.apply(values, context).tobytes() for _ in range(5)})

    assert (answers(sticky=True), answers(sticky=False)) == (1, 5)


def test_its_sticky_noise_is_not_that_of_noise() -> None:
    """Scaled copies of one noise would give the clean value away."""
    context = ReleaseContext(release="features", sticky_key=b"k", digests=[b"q"])
    values = np.zeros((1, 8), dtype=np.float32)
    plain = Chain.parse([{"noise": {"scale": 1, "sticky": True}}]).apply(values, context)
    ours = Chain.parse([{"calibrated-noise": {"epsilon": 1, "sticky": True}}]).apply(values, context)
    assert abs(np.corrcoef(plain[0], ours[0])[0, 1]) < 0.999


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("inf")},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "clip": 0},
        {"epsilon": 1, "sigma": 1},
    ],
    ids=str,
)
def test_promises_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidChain):
        Chain.parse([{"calibrated-noise": wrong}])
