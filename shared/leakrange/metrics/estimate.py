"""A figure and its uncertainty, in one trial and over trials that differ only by their seed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakrange.strict import Strict

__all__ = ["Estimate", "OverSeeds"]

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Estimate(Strict):
    """The value of a metric in one trial, in the metric's unit.

    ``low`` and ``high`` are the 95 % interval over the trial's samples; None where the metric has none.
    """

    value: Finite
    low: Finite | None = None
    high: Finite | None = None

    @classmethod
    def within(cls, value: float, bounds: tuple[float, float]) -> Estimate:
        """Make an estimate of ``value`` with its 95 % interval (low, high)."""
        return cls(value=value, low=bounds[0], high=bounds[1])


class OverSeeds(Strict):
    """The value of a metric over several seeds: mean, sample deviation, and the 95 % interval of the mean
    (Student's t). Of a single seed the last two are None.
    """

    mean: Finite
    deviation: Finite | None = None
    interval: tuple[Finite, Finite] | None = None
