"""Differences of two means over seeds, with 95 % intervals: paired by seed, or Welch's; many at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from leakrange.metrics.intervals import student_interval, summarise

__all__ = ["Difference", "Method", "difference_of_means", "holm"]

Method = Literal["paired", "welch", "none"]
ALIKE = 1e-9
"""Largest deviation, as a part of the values, that may be their rounding."""


@dataclass(frozen=True)
class Difference:
    """Mean of the second less mean of the first, ``value``. ``interval`` is the 95 % interval by ``method``
    with ``freedom`` degrees of freedom; both are None where there are too few seeds."""

    value: float
    interval: tuple[float, float] | None
    method: Method
    freedom: float | None = None

    @property
    def clear(self) -> bool:
        """Whether the interval holds no zero."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)

    def chance(self, true: float = 0.0) -> float | None:
        """The two-sided p-value of a ``true`` difference (Student's t). None where there are too few seeds,
        or where all seeds differ by the same, which says nothing of the noise."""
        from scipy.special import stdtr, stdtrit  # here, since not all who import this module have SciPy

        if self.interval is None or self.freedom is None:
            return None
        error = (self.interval[1] - self.interval[0]) / 2 / stdtrit(self.freedom, 0.975)
        if error <= ALIKE * max(abs(self.value), 1.0):
            return None
        return float(2 * stdtr(self.freedom, -abs(self.value - true) / error))


def difference_of_means(first: Mapping[int, float], second: Mapping[int, float]) -> Difference:
    """The difference of two figures, each by seed. Raises `ValueError` where one has none.

    Two or more seeds that both share are paired: the differences of each seed are averaged (Student's t), and
    what both owe to the seed cancels out. Under other seeds the interval is Welch's (Biometrika 34, 1947)
    with Satterthwaite's degrees of freedom, which takes two or more seeds on both sides.
    """
    if not first or not second:
        raise ValueError("no figures to compare")
    if first.keys() == second.keys() and len(first) > 1:
        paired = summarise([second[seed] - first[seed] for seed in sorted(first)])
        return Difference(paired.mean, paired.interval, "paired", len(first) - 1)
    before, after = summarise(list(first.values())), summarise(list(second.values()))
    value = after.mean - before.mean
    if before.deviation is None or after.deviation is None:
        return Difference(value, None, "none")
    a, b = before.deviation**2 / len(first), after.deviation**2 / len(second)
    if a + b == 0.0:
        return Difference(value, (value, value), "welch", float(len(first) + len(second) - 2))
    freedom = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))
    # A mean of freedom + 1 values whose standard error is that of the difference.
    spread = math.sqrt(a + b) * math.sqrt(freedom + 1)
    return Difference(value, student_interval(value, spread, freedom + 1), "welch", freedom)


def holm(chances: Sequence[float], level: float = 0.05) -> list[bool]:
    """Test of the hypotheses with the p-values ``chances``: True for those that are rejected. With a
    probability of at most ``level`` any of the true ones is rejected (Holm, Scandinavian Journal of
    Statistics 6, 1979). The smallest of m is held to level/m, the next to level/(m − 1), up to the first that
    is not rejected."""
    rejected = [False] * len(chances)
    for place, each in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[each] > level / (len(chances) - place):
            break
        rejected[each] = True
    return rejected
