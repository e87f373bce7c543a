"""The analytic Gaussian mechanism: the noise that makes an answer (ε, δ)-differentially private."""

from __future__ import annotations

import math

__all__ = ["gaussian_delta", "gaussian_sigma"]

DEEP = 30.0
"""Deviations from which on the normal tail is taken from its asymptotic series, good to 1e-11; `math.erfc`
becomes 0 at 38."""


def gaussian_delta(ratio: float, epsilon: float) -> float:
    """The least δ for which noise of ``ratio`` = σ/Δ > 0 times the sensitivity is (ε, δ)-private, ε ≥ 0.

    δ = Φ(Δ/2σ − εσ/Δ) − e^ε·Φ(−Δ/2σ − εσ/Δ) (Balle and Wang 2018, Theorem 8). In [0, 1].
    """
    half, shift = 0.5 / ratio, epsilon * ratio
    above = math.exp(_log_normal_tail(shift - half))
    below = math.exp(epsilon + _log_normal_tail(shift + half))  # at most `above`: never overflows
    return min(1.0, max(0.0, above - below))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The least σ for which adding N(0, σ²) to every element is (ε, δ)-private (Balle and Wang 2018,
    Algorithm 1), ε > 0, 0 < δ < 1.

    ``sensitivity``: the largest Euclidean distance Δ > 0 between answers on neighbouring inputs. The
    classical σ = Δ·√(2·ln(1.25/δ))/ε holds only for ε ≤ 1 and adds more than need be; this one is exact for
    every ε. δ falls as σ grows, so σ is found by bisection, to 1e-12 and from above.
    """
    low = high = 1.0
    while gaussian_delta(high, epsilon) > delta:
        high *= 2.0
    while gaussian_delta(low, epsilon) <= delta:
        low /= 2.0
    while high - low > 1e-12 * high:
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        if gaussian_delta(middle, epsilon) <= delta:
            high = middle
        else:
            low = middle
    return high * sensitivity


def gaussian_entropy(variance: float) -> float:
    """The differential entropy of Gaussian noise of that variance, in bits."""
    return 0.5 * math.log2(2.0 * math.pi * math.e * variance)


def _log_normal_tail(z: float) -> float:
    """ln P(Z > z) of a standard normal Z."""
    if z < DEEP:
        return math.log(math.erfc(z / math.sqrt(2.0)) / 2.0)
    series = -1.0 / z**2 + 3.0 / z**4 - 15.0 / z**6
    return -z * z / 2.0 - math.log(z * math.sqrt(2.0 * math.pi)) + math.log1p(series)
