"""Rounding to decimals or to significant figures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from leakrange.defences.output.base import (
    OutputDefence,
    Parameters,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)
from leakrange.metrics.capacity import rounded_count

__all__ = ["Round"]


MOST = float(np.finfo(np.float32).max)
DIGITS = 2.0**53
"""Number from which on a float has no digits left to round."""


class RoundParameters(Parameters):
    """Exactly one of ``decimals`` (digits after the point) and ``figures`` (significant digits)."""

    decimals: Annotated[int, Field(ge=0, le=8, strict=True)] | None = None
    figures: Annotated[int, Field(ge=1, le=8, strict=True)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.decimals is None) == (self.figures is None):
            raise ValueError("give either decimals or figures")
        return self


@output_defences.register("round")
class Round(OutputDefence[RoundParameters]):
    """Round half to even; a rounded softmax is not renormalised.

    Its sum may miss 1 by up to N/2 units of the last digit: renormalising would put digits back that rounding
    took away. FACELEAKS Section 7 rounds to one significant figure.
    """

    Parameters = RoundParameters
    summary = "round to a number of decimals or of significant figures"
    shorthand = "decimals"

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, ...) -> (B, ...)."""
        up: float | Values
        down: float | Values
        # Only positive powers of ten: integer / power is then the float nearest to the decimal number.
        if self.parameters.decimals is not None:
            up, down = 10.0**self.parameters.decimals, 1.0
            largest = np.maximum.reduce(np.abs(values), axis=None, initial=0.0)
            if largest < DIGITS / up:  # the usual case, and the fastest
                near: Values = np.rint(values * up) / up
                return near
        else:
            assert self.parameters.figures is not None
            magnitude = np.abs(values)
            exponent = np.floor(np.log10(np.where(magnitude > 0, magnitude, 1.0)))
            # Beyond 1e-290 a power of ten overflows; such a value is nothing at float32 anyway.
            places = np.minimum(self.parameters.figures - 1 - exponent, 290)
            up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
        with np.errstate(over="ignore"):
            scaled = values * up / down
            rounded = np.rint(scaled) / up * down
        result: Values = np.where(np.abs(scaled) < DIGITS, rounded, values)
        return result

    @override
    def room(self, before: Room, release: Release) -> Room:
        """The number of vectors of decimals near probabilities (`rounded_count`); for others the levels of
        each value between its bounds."""
        digits, figures = self.parameters.decimals, self.parameters.figures
        if digits is None:
            assert figures is not None
            levels = _levels(before.high, figures) + _levels(-before.low, figures) + 1
            return replace(before, probabilities=False).within(before.of_levels(levels))
        if before.probabilities:
            bits = math.log2(rounded_count(before.values, digits, before.telling))
            return replace(before, probabilities=False).within(bits)
        unit = 10.0**digits
        lowest, highest = (np.rint(np.clip(end, -MOST, MOST) * unit) for end in (before.low, before.high))
        bounded = replace(before, low=float(lowest / unit), high=float(highest / unit))
        return bounded.within(before.of_levels(float(highest - lowest) + 1.0))


def _levels(bound: float, figures: int) -> float:
    """Number of positive numbers of so many figures up to ``bound``, or the next power of ten, that float32
    can tell from 0: from 1e-45 on."""
    if bound <= 0.0:
        return 0.0
    decades = math.ceil(math.log10(min(bound, MOST))) + 45
    return 9.0 * 10.0 ** (figures - 1) * max(decades, 0) + 1.0
