"""The difference of two means over seeds, with its 95 % interval: paired by seed, or Welch's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from leakrange.metrics.intervals import student_interval, summarise

__all__ = ["Difference", "Method", "difference_of_means"]

Method = Literal["paired", "welch", "none"]


@dataclass(frozen=True)
class Difference:
    """``value`` = mean of the second less mean of the first. ``interval`` is the 95 % interval by
    ``method`` with ``freedom`` degrees of freedom; both are None where there are too few seeds."""

    value: float
    interval: tuple[float, float] | None
    method: Method
    freedom: float | None = None

    @property
    def clear(self) -> bool:
        """Whether the interval holds no zero."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


def difference_of_means(first: Mapping[int, float], second: Mapping[int, float]) -> Difference:
    """The difference of two figures, each by seed; raises `ValueError` where one has none.

    Under the same seeds, two or more, the differences of each seed are averaged (Student's t of paired
    samples): what both owe to the seed cancels out. Under other seeds it is Welch's (Biometrika 34, 1947)
    with Satterthwaite's degrees of freedom, which takes two or more seeds on both sides.
    """
    if not first or not second:
        raise ValueError("no figures to compare")
    if first.keys() == second.keys() and len(first) > 1:
        paired = summarise([second[seed] - first[seed] for seed in sorted(first)])
        return Difference(paired.mean, paired.interval, "paired", len(first) - 1)
    one, two = summarise(list(first.values())), summarise(list(second.values()))
    value = two.mean - one.mean
    if one.deviation is None or two.deviation is None:
        return Difference(value, None, "none")
    a, b = one.deviation**2 / len(first), two.deviation**2 / len(second)
    if a + b == 0.0:
        return Difference(value, (value, value), "welch", float(len(first) + len(second) - 2))
    freedom = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))
    # A mean of freedom + 1 values whose standard error is that of the difference.
    spread = math.sqrt(a + b) * math.sqrt(freedom + 1)
    return Difference(value, student_interval(value, spread, freedom + 1), "welch", freedom)
