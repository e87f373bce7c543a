"""The proven privacy of noised updates, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakrange.defences.output.noise import gaussian_delta
from leakrange.federation.accounting import Noise, epsilon, noise_of_a_mean


@pytest.mark.parametrize("ratio", [0.3, 1.0, 4.0])
def test_one_gaussian_release_is_near_the_analytic_epsilon_and_never_below_it(ratio: float) -> None:
    found = epsilon("gaussian", ratio, 1)
    assert gaussian_delta(ratio, found) <= 1e-5
    assert gaussian_delta(ratio, found / 1.15) > 1e-5


def test_gaussian_releases_together_are_one_of_less_noise() -> None:
    # n releases of noise σ tell what one of σ/√n does
    assert epsilon("gaussian", 2.0, 4) == pytest.approx(epsilon("gaussian", 1.0, 1), rel=1e-6)


@pytest.mark.parametrize("ratio", [0.02, 0.5, 2.0])
def test_one_laplace_release_is_pure(ratio: float) -> None:
    # (ε, δ) of one Laplace release: δ = 1 - exp((ε - 1/b) / 2) below ε = 1/b
    exact = 1.0 / ratio + 2.0 * math.log1p(-1e-5)
    assert exact <= epsilon("laplace", ratio, 1) <= 1.01 / ratio + 1e-3


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_more_rounds_and_less_noise_and_no_sampling_prove_less(noise: Noise) -> None:
    by_rounds = [epsilon(noise, 1.0, rounds) for rounds in (0, 1, 5, 30)]
    assert by_rounds[0] == 0.0
    assert np.all(np.diff(by_rounds) > 0)
    assert np.all(np.diff([epsilon(noise, ratio, 5) for ratio in (0.5, 1.0, 2.0, 8.0)]) < 0)
    assert np.all(np.diff([epsilon(noise, 1.0, 5, share) for share in (0.01, 0.1, 0.5, 1.0)]) > 0)
    assert epsilon(noise, 1.0, 5, delta=1e-3) < epsilon(noise, 1.0, 5)


def test_the_noise_of_a_mean_hides_the_largest_device_worst() -> None:
    assert noise_of_a_mean("gaussian", 0.5, [10] * 9, 4) == pytest.approx(1.0)
    samples = [30, 10, 20, 5]
    weights = np.array([30, 5, 10]) / 45
    wanted = 0.5 * np.linalg.norm(weights) / weights[0]
    assert noise_of_a_mean("gaussian", 0.5, samples, 3) == pytest.approx(float(wanted))
    assert noise_of_a_mean("gaussian", 0.5, samples, 1) == 0.5
    assert noise_of_a_mean("laplace", 0.5, samples, 3) == 0.5
