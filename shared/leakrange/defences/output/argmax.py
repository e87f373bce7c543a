"""Release of the decision alone."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import override

from leakrange.defences.output.base import (
    CLASS_SCORES,
    Nothing,
    OutputDefence,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)

__all__ = ["Argmax"]


@output_defences.register("argmax")
class Argmax(OutputDefence[Nothing]):
    """One-hot vector of the highest score, of logits as of a softmax; of equal ones the first class wins."""

    Parameters = Nothing
    summary = "release the decision alone, as a one-hot vector"
    consumes = CLASS_SCORES
    vectors = True
    by_head = True

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N) of zeros and ones."""
        result = np.zeros_like(values)
        np.put_along_axis(result, values.argmax(axis=1, keepdims=True), 1.0, axis=1)
        return result

    @override
    def makes(self, release: Release) -> Release:
        """Probabilities, one of which is 1."""
        return "softmax"

    @override
    def room(self, before: Room, release: Release) -> Room:
        """One of N vectors."""
        bits = min(before.bits, math.log2(before.values))
        return Room(before.values, bits, 0.0, 1.0, probabilities=True, withheld=before.values - 1)
