"""Confidence intervals: over seeds (Student's t) and over samples (Wilson, Newcombe)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakrange.metrics.estimate import OverSeeds

__all__ = [
    "auc_interval",
    "student_interval",
    "summarise",
    "wilson_interval",
]

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
        for _ in range(100):
            middle = (near + far) / 2
            if distance(middle) <= Z95:
                near = middle
            else:
                far = middle
        return near

    return (0.0 if area == 0.0 else bound(0.0)), (1.0 if area == 1.0 else bound(1.0))
