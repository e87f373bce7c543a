"""Bounding values, or each sample's norm."""

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
        """Within the bounds; a value that is withheld stays so, unless the bounds move 0."""
        given = self.parameters
        if given.norm is not None:
            low, high = max(min(before.low, 0.0), -given.norm), min(max(before.high, 0.0), given.norm)
            return replace(before, low=low, high=high, probabilities=False)
        least = -math.inf if given.min is None else given.min
        most = math.inf if given.max is None else given.max
        if least <= before.low and before.high <= most:
            return before
        low, high = (min(max(end, least), most) for end in (before.low, before.high))
        withheld = before.withheld if least <= 0.0 <= most else 0
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
