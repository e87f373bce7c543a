"""The decision of a verification in place of its distance."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field
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

__all__ = ["Match"]


class MatchParameters(Parameters):
    """``threshold``: the largest distance at which two samples count as one person's."""

    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)]


@output_defences.register("match")
class Match(OutputDefence[MatchParameters]):
    """A distance of 0 for a match, and of 1 for none: so smaller still means more alike."""

    Parameters = MatchParameters
    summary = "release whether a distance is a match, and not the distance"
    shorthand = "threshold"
    consumes = frozenset[Release]({"score"})

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, ...) -> (B, ...) of zeros and ones."""
        # compared in float32, in which a distance is released
        unlike: Values = (values > np.float32(self.parameters.threshold)).astype(np.float64)
        return unlike

    @override
    def room(self, before: Room, release: Release) -> Room:
        """One bit for each distance."""
        return Room(before.values, min(before.bits, float(before.values)), 0.0, 1.0)
