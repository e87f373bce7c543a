"""How many different answers there are, and so how many bits one of them can carry at most."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["noisy_bits", "rounded_count", "simplex_count"]

OFF = 1e-6
"""By how much the float32 probabilities of a net may miss the sum 1."""


def simplex_count(classes: int, digits: int) -> int:
    """How many vectors of ``classes`` multiples of 10^-digits add up to 1, none of them negative: Eq. 18 of
    VICIOUS, exactly. `math.log2` gives its bits.

    Entries that are rounded one by one need not add up to 1, so this is no bound for them: see
    `rounded_count`. Raises `ValueError` for fewer than one class, or negative digits.
    """
    _check(classes, digits)
    return math.comb(10**digits + classes - 1, classes - 1)


@lru_cache(maxsize=256)
def rounded_count(classes: int, digits: int, kept: int | None = None) -> int:
    """How many different vectors come of rounding each of ``classes`` probabilities to ``digits`` decimals,
    exactly; with ``kept``, of probabilities of which all but so many are 0.

    In units of the last digit, of which 1 holds M = 10^digits: entries k are what probabilities between k − ½
    and k + ½ are rounded to, and those may not be negative. So with m positive entries the probabilities add
    up to S − m/2 at least and S + kept/2 at most, S the sum of entries, and to anything between. Halves may
    go either way, and the probabilities may miss the sum 1 by `OFF`, as floats do. The vectors of m positive
    entries and sum S number C(N, m)·C(S − 1, m − 1), and over all S up to s C(N, m)·C(s, m). Raises
    `ValueError` as `simplex_count`, and for fewer than one that is kept.
    """
    _check(classes, digits)
    kept = classes if kept is None else min(kept, classes)
    if kept < 1:
        raise ValueError("one probability is not 0, or more")
    one = 10**digits
    # Twice the sums, which are multiples of a half; OFF is below that up to 5 digits.
    off = int(2 * one * OFF)
    least = max(1, -(-(2 * one - kept - off) // 2))
    total = 1 if 2 * one <= kept + off else 0  # nothing but zeros
    up = down = places = 1  # C(s, m), C(least - 1, m) and C(N, m), each made from the one of m - 1
    for m in range(1, kept + 1):
        before, most = (2 * one + m - 1 + off) // 2, (2 * one + m + off) // 2
        up = up * (most if most > before else before - m + 1) // m
        down = down * (least - m) // m
        places = places * (classes - m + 1) // m
        total += places * (up - down)
    return total


def noisy_bits(values: int, power: float, variance: float, entropy: float) -> float:
    """How many bits at most get through noise that is added to each of ``values`` numbers.

    power: the most that the squares of the numbers can add up to, each measured from a fixed point. variance
    and entropy (differential, in bits) are those of one number's noise. No sum has more entropy than a
    Gaussian one of its variance, so that I ≤ n·(½·log2(2πe·(power/n + variance)) − entropy); for Gaussian
    noise this is Shannon's capacity. It holds for one answer: fresh noise of several averages out.
    """
    most = 0.5 * math.log2(2 * math.pi * math.e * (power / values + variance))
    return max(0.0, values * (most - entropy))


def _check(classes: int, digits: int) -> None:
    if classes < 1 or digits < 0:
        raise ValueError("there is one class or more, and no negative number of digits")
