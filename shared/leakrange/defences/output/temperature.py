"""Softening or sharpening of class scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from leakrange.defences.output.base import (
    CLASS_SCORES,
    OutputDefence,
    Parameters,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)

__all__ = ["Temperature"]


class TemperatureParameters(Parameters):
    """``t`` > 1 softens, t < 1 sharpens."""

    t: Annotated[float, Field(ge=1e-3, le=1e3)]


@output_defences.register("temperature")
class Temperature(OutputDefence[TemperatureParameters]):
    """Logits are divided by t; a softmax becomes p^(1/t), renormalised, which is the same thing.

    Negative probabilities, as noise leaves them, count as 0; where none is positive the result is uniform.
    """

    Parameters = TemperatureParameters
    summary = "divide logits by a temperature, or do the same to a softmax"
    consumes = CLASS_SCORES
    vectors = True
    by_head = True
    shorthand = "t"

    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N)."""
        if context.release == "logits":
            return values / self.parameters.t
        top = values.max(axis=1, keepdims=True)
        # Relative to the highest, so that no power under- or overflows it.
        share = np.where(top > 0, np.maximum(values, 0.0) / np.where(top > 0, top, 1.0), 1.0)
        powered = share ** (1.0 / self.parameters.t)
        result: Values = powered / powered.sum(axis=1, keepdims=True)
        return result

    @override
    def room(self, before: Room, release: Release) -> Room:
        """Logits of another range, or probabilities."""
        if release == "softmax":
            return before.as_probabilities
        t = self.parameters.t
        return replace(before, low=before.low / t, high=before.high / t, probabilities=False)
