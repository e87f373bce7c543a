"""Intervals of 95 % over seeds (Student's t) and over samples (Wilson, Newcombe), and differences of two
means over seeds with theirs: paired by seed, or Welch's; many at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from leakrange.metrics.estimate import OverSeeds

__all__ = ["auc_interval", "difference_of_means", "holm", "student_interval", "summarise", "wilson_interval"]

Z95 = 1.959963984540054


def summarise(values: Sequence[float]) -> OverSeeds:
    """Mean, deviation and interval of one figure over seeds. Raises `ValueError` where there is no value."""
    if not values:
        raise ValueError("no values")
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return OverSeeds(mean=mean)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    return OverSeeds(mean=mean, deviation=deviation, interval=student_interval(mean, deviation, len(values)))


def student_interval(mean: float, deviation: float, count: float) -> tuple[float, float]:
    """The 95 % interval of a mean of ``count`` > 1 values with sample deviation ``deviation``."""
    from scipy.special import stdtrit  # here, since not all who import this module have SciPy

    half = float(stdtrit(count - 1, 0.975)) * deviation / math.sqrt(count)
    return mean - half, mean + half


def wilson_interval(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share, e.g. of an accuracy measured on ``trials`` samples, within
    [0, 1]. Samples are independent of each other; for others see `leakrange.metrics.clusters.share_interval`.
    """
    if not 0 <= successes <= trials or trials <= 0:
        raise ValueError("successes must lie in 0..trials, and trials be above 0")
    share, z2 = successes / trials, Z95 * Z95
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z95 * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def auc_interval(area: float, positives: float, negatives: float) -> tuple[float, float]:
    """The 95 % interval of an AUC of so many ``positives`` and ``negatives``, within [0, 1]. Samples are
    independent of each other; for others see `leakrange.metrics.clusters.area_interval`.

    Newcombe's method 5 (Statistics in Medicine 25, 2006): as in Wilson's interval, it holds the AUCs from
    which ``area`` is at most 1.96 of their own deviations away. So it has a width at 0 and 1, too, and holds
    for a handful of samples.
    """
    if not 0.0 <= area <= 1.0 or positives <= 0 or negatives <= 0:
        raise ValueError("an AUC lies in 0..1, and both classes have samples")

    def distance(candidate: float) -> float:
        """Distance of ``area`` from ``candidate`` in the candidate's deviations; it grows to either end."""
        more = (positives + negatives) / 2 - 1
        inner = 1 + more * ((1 - candidate) / (2 - candidate) + candidate / (1 + candidate))
        variance = candidate * (1 - candidate) * inner / (positives * negatives)
        return abs(candidate - area) / math.sqrt(variance) if variance > 0 else math.inf

    def bound(end: float) -> float:
        near, far = area, end
        while (middle := (near + far) / 2) not in (near, far):
            if distance(middle) <= Z95:
                near = middle
            else:
                far = middle
        return near

    return (0.0 if area == 0.0 else bound(0.0)), (1.0 if area == 1.0 else bound(1.0))


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
