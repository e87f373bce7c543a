"""Number of different answers, and so the most bits that one answer can carry."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["noisy_bits", "rounded_count", "simplex_count"]

OFF = 1e-6
"""Largest amount by which the float32 probabilities of a net may miss the sum 1."""


def simplex_count(classes: int, digits: int) -> int:
    """Exact number of vectors of ``classes`` multiples of 10^-digits, none negative, that add up to 1: Eq. 18
    of VICIOUS. `math.log2` gives its bits.

    Entries that are rounded one by one need not add up to 1, so this is no bound for them: see
    `rounded_count`. Raises `ValueError` for fewer than one class, or negative digits.
    """
    _check(classes, digits)
    return math.comb(10**digits + classes - 1, classes - 1)


@lru_cache(maxsize=256)
def rounded_count(classes: int, digits: int, kept: int | None = None) -> int:
    """Exact number of different vectors that rounding each of ``classes`` probabilities to ``digits``
    decimals can give. With ``kept``, at most so many of the probabilities are above 0.

    Units are those of the last digit, of which 1 holds M = 10^digits. An entry k stands for probabilities
    between k − ½ and k + ½, which may not be negative. So with m positive entries of sum S, the probabilities
    add up to anything from S − m/2 to S + kept/2. Halves may go either way, and the probabilities may miss
    the sum 1 by `OFF`, as floats do. There are C(N, m)·C(S − 1, m − 1) vectors of m positive entries and sum
    S, and C(N, m)·C(s, m) over all S up to s. Raises `ValueError` as `simplex_count` does, and where ``kept``
    is below 1.
    """
    _check(classes, digits)
    kept = classes if kept is None else min(kept, classes)
    if kept < 1:
        raise ValueError("one probability is not 0, or more")
    one = 10**digits
    # Twice the sums, which are multiples of a half; OFF is below that up to 5 digits.
    off = int(2 * one * OFF)
    lowest = max(1, -(-(2 * one - kept - off) // 2))
    total = 1 if 2 * one <= kept + off else 0  # nothing but zeros
    up = down = places = 1  # C(s, m), C(lowest - 1, m) and C(N, m), each made from the one of m - 1
    for m in range(1, kept + 1):
        before, highest = (2 * one + m - 1 + off) // 2, (2 * one + m + off) // 2
        up = up * (highest if highest > before else before - m + 1) // m
        down = down * (lowest - m) // m
        places = places * (classes - m + 1) // m
        total += places * (up - down)
    return total


def noisy_bits(values: int, power: float, variance: float, entropy: float) -> float:
    """Largest number of bits that get through noise added to each of ``values`` numbers.

    power: the most that the squares of the numbers can add up to, each measured from a fixed point. variance
    and entropy (differential, in bits) are those of one number's noise. No sum has more entropy than a
    Gaussian one of its variance, so that I ≤ n·(½·log2(2πe·(power/n + variance)) − entropy). For Gaussian
    noise this is Shannon's capacity. It holds for one answer: the fresh noise of several answers averages
    out.
    """
    highest = 0.5 * math.log2(2 * math.pi * math.e * (power / values + variance))
    return max(0.0, values * (highest - entropy))


def _check(classes: int, digits: int) -> None:
    if classes < 1 or digits < 0:
        raise ValueError("there is one class or more, and no negative number of digits")
