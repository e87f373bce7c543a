"""Scaling of features back to length 1 and of a softmax back to sum 1, after noise has changed them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from typing_extensions import override

from leakrange.defences.output.base import (
    Nothing,
    OutputDefence,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)

__all__ = ["Normalise"]

NORMED: frozenset[Release] = frozenset({"features", "softmax"})


@output_defences.register("normalise")
class Normalise(OutputDefence[Nothing]):
    """Scale features to Euclidean length 1, and a softmax to sum 1 (FACELEAKS Section 7: noise is added "and
    normalize it appropriately").

    Put it after ``noise``. Negative probabilities count as 0 first; where none is positive the result is
    uniform. Features that are all 0 stay so. It is for models whose cards say that features are normalised:
    others lose their lengths by it. It is computed from the release alone, so it takes nothing from the
    promise of a ``calibrated-noise`` before it.
    """

    Parameters = Nothing
    summary = "scale features to length 1, and a softmax to sum 1, as noise leaves neither"
    consumes = NORMED
    vectors = True
    by_head = True

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N)."""
        if context.release == "softmax":
            values = np.maximum(values, 0.0)
        # By the largest first: squares and sums of huge values would overflow, those of tiny ones vanish.
        largest = np.abs(values).max(axis=1, keepdims=True, initial=0.0)
        empty = 1.0 if context.release == "softmax" else 0.0
        unit = np.where(largest > 0, values / np.where(largest > 0, largest, 1.0), empty)
        if context.release == "softmax":
            size = unit.sum(axis=1, keepdims=True)
        else:
            size = np.linalg.norm(unit, axis=1, keepdims=True)
        result: Values = unit / np.maximum(size, 1.0)
        return result

    @override
    def room(self, before: Room, release: Release) -> Room:
        """Probabilities, or values between -1 and 1."""
        if release == "softmax":
            return before.as_probabilities
        return replace(before, low=-1.0, high=1.0)
