"""Class scores and features in another form: softer or sharper, as probabilities, scaled again after noise,
or the decision alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from leakrange.defences.output.base import (
    CLASS_SCORES,
    Nothing,
    OutputDefence,
    Parameters,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)
from leakrange.defences.stages import P
from leakrange.metrics import softmax

__all__ = ["Argmax", "Decision", "Normalise", "Softmax", "Temperature", "one_hot"]


class Decision(OutputDefence[P]):
    """The base of defences that release one class of N as a one-hot vector."""

    consumes = CLASS_SCORES
    vectors = True
    hides_confidence = True

    @override
    def makes(self, release: Release) -> Release:
        """Probabilities, one of which is 1."""
        return "softmax"

    @override
    def room(self, before: Room, release: Release) -> Room:
        """One of N vectors."""
        bits = min(before.bits, math.log2(before.values))
        return Room(before.values, bits, 0.0, 1.0, probabilities=True, withheld=before.values - 1)


def one_hot(scores: Values) -> Values:
    """(B, N) -> (B, N) of zeros, and a one for the highest score; of equal ones the first class wins."""
    result = np.zeros_like(scores)
    np.put_along_axis(result, scores.argmax(axis=1, keepdims=True), 1.0, axis=1)
    return result


@output_defences.register("argmax")
class Argmax(Decision[Nothing]):
    """One-hot vector of the highest score, of logits as of a softmax; of equal ones the first class wins."""

    Parameters = Nothing
    summary = "release the decision alone, as a one-hot vector"
    by_head = True

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N) of zeros and ones."""
        return one_hot(values)


@output_defences.register("softmax")
class Softmax(OutputDefence[Nothing]):
    """Logits become probabilities, which takes one number away: their common level. Those of two classes
    whose first logit is 0 lose nothing. A softmax does not change.

    The release keeps its name: whoever reads logits there reads other numbers than before. Later stages take
    them as probabilities (`makes`).
    """

    Parameters = Nothing
    summary = "put logits through a softmax"
    consumes = CLASS_SCORES
    vectors = True
    by_head = True

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N)."""
        return softmax(values) if context.release == "logits" else values

    @override
    def makes(self, release: Release) -> Release:
        """Probabilities."""
        return "softmax"

    @override
    def room(self, before: Room, release: Release) -> Room:
        """Probabilities."""
        return before.as_probabilities if release == "logits" else before


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
