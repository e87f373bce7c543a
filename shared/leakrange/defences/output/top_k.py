"""Release of the k highest class scores alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Literal

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

__all__ = ["LOGIT_GAP", "TopK"]

LOGIT_GAP = 30.0
"""Distance of withheld logits below the lowest kept one: a probability of at most e^-30 < 1e-13."""


class TopKParameters(Parameters):
    """``k`` classes are kept; k ≥ N keeps all. ``rest`` says what happens to the others."""

    k: Annotated[int, Field(ge=1, strict=True)]
    rest: Literal["renormalise", "zero", "bare"] = "renormalise"


@output_defences.register("top-k")
class TopK(OutputDefence[TopKParameters]):
    """Withhold all but the k highest scores of each sample; of equal ones the first class wins.

    renormalise: a softmax's kept probabilities are scaled to sum 1, the others are 0 (negative ones, as noise
    leaves them, count as 0; where nothing is left the kept classes share equally); logits become the
    logarithms of those. zero: kept values do not change, the others get probability 0. bare: only the k
    values, highest first, without the classes they belong to (B, k). "Probability 0" of a logit is
    `LOGIT_GAP` below the lowest kept one.
    """

    Parameters = TopKParameters
    summary = "keep the k highest class scores, with the rest renormalised away, zeroed or left out"
    consumes = CLASS_SCORES
    vectors = True
    by_head = True
    shorthand = "k"

    @property
    @override
    def hides_confidence(self) -> bool:
        """Where one class is left, with probability 1."""
        return self.parameters.k == 1 and self.parameters.rest == "renormalise"

    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N), or (B, min(k, N)) for ``bare``."""
        # A stable sort of the negated values: ties go to the lower class, as argmax does.
        order = np.argsort(-values, axis=1, kind="stable")[:, : self.parameters.k]
        kept = np.take_along_axis(values, order, axis=1)
        if self.parameters.rest == "bare":
            return kept
        if context.release == "logits":
            if self.parameters.rest == "renormalise":
                top = kept[:, :1]
                kept = kept - top - np.log(np.exp(kept - top).sum(axis=1, keepdims=True))
            result = np.repeat(kept[:, -1:] - LOGIT_GAP, values.shape[1], axis=1)
        else:
            if self.parameters.rest == "renormalise":
                kept = np.maximum(kept, 0.0)
                # By the highest first: sums of tiny numbers must not vanish, nor those of huge ones overflow.
                top = kept[:, :1]
                kept = np.where(top > 0, kept / np.where(top > 0, top, 1.0), 1.0)
                kept = kept / kept.sum(axis=1, keepdims=True)
            result = np.zeros_like(values)
        np.put_along_axis(result, order, kept, axis=1)
        return result

    @override
    def room(self, before: Room, release: Release) -> Room:
        """The room of k values and the choice of them, or of the values alone for ``bare``; the withheld
        logits share one more value."""
        k = min(self.parameters.k, before.values)
        if self.parameters.rest == "bare":
            return Room(k, before.bits, before.low, before.high)
        if k == 1 and self.parameters.rest == "renormalise":
            before = before.within(math.log2(before.values))  # the highest has probability 1
        keeps_all = k == before.values
        if release == "logits":
            withheld = 0 if keeps_all else before.values - k - 1
            high = 0.0 if self.parameters.rest == "renormalise" else before.high
            return Room(before.values, before.bits, -math.inf, high, withheld=withheld)
        withheld = max(before.withheld, before.values - k)
        if self.parameters.rest == "renormalise":
            return Room(before.values, before.bits, 0.0, 1.0, probabilities=True, withheld=withheld)
        if keeps_all:
            return before
        low, high = min(before.low, 0.0), max(before.high, 0.0)
        return replace(before, low=low, high=high, probabilities=False, withheld=withheld)
