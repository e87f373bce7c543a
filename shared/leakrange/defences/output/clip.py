"""Bounds of values, or of each sample's norm."""

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

__all__ = ["Clip", "clip_norm"]


class ClipParameters(Parameters):
    """``min`` and/or ``max`` for each value, or else ``norm``: the highest Euclidean norm of a sample."""

    min: float | None = None
    max: float | None = None
    norm: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        bounds = self.min is not None or self.max is not None
        if bounds == (self.norm is not None):
            raise ValueError("give either min and/or max, or norm")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is above max")
        return self


@output_defences.register("clip")
class Clip(OutputDefence[ClipParameters]):
    """Bound every value, or scale a sample down to a highest Euclidean norm."""

    Parameters = ClipParameters
    summary = "bound every value, or the Euclidean norm of each sample"

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, ...) -> (B, ...)."""
        if self.parameters.norm is None:
            return np.clip(values, self.parameters.min, self.parameters.max)
        return clip_norm(values, self.parameters.norm)

    @override
    def room(self, before: Room, release: Release) -> Room:
        """The values within the bounds. Withheld values stay withheld, unless the bounds move 0."""
        parameters = self.parameters
        if parameters.norm is not None:
            low, high = (
                max(min(before.low, 0.0), -parameters.norm),
                min(max(before.high, 0.0), parameters.norm),
            )
            return replace(before, low=low, high=high, probabilities=False)
        lower = -math.inf if parameters.min is None else parameters.min
        upper = math.inf if parameters.max is None else parameters.max
        if lower <= before.low and before.high <= upper:
            return before
        low, high = (min(max(end, lower), upper) for end in (before.low, before.high))
        withheld = before.withheld if lower <= 0.0 <= upper else 0
        return replace(before, low=low, high=high, probabilities=False, withheld=withheld)


def clip_norm(values: Values, norm: float) -> Values:
    """Scale each sample of (B, ...) whose Euclidean norm is above ``norm`` down to it; leave the others."""
    shape, values = values.shape, values.reshape(len(values), -1)
    # The norm of the values over the largest one: their squares would overflow.
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0.0)
    unit = values / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(unit, axis=1, keepdims=True)
    limit = norm / np.where(largest > 0, largest, 1.0)
    result: Values = np.where(length > limit, unit / np.where(length > 0, length, 1.0) * norm, values)
    return result.reshape(shape)
