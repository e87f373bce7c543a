"""Unsure answers that keep the order of the classes."""

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

__all__ = ["Hamp"]


@output_defences.register("hamp")
class Hamp(OutputDefence[Nothing]):
    """Replace the class scores by evenly falling ones: the class of rank r = 1…N gets 2·(N − r + 1) / (N² +
    N), whatever the model's own score was. So of 10 classes the likeliest has probability 0.18.

    It is the output part of HAMP, in a simple form. There the scores are those of a random input, sorted into
    the order of the sample's own, and differ from answer to answer; here they are the same for all. Neither
    tells more of a sample than the order of its classes. HAMP also trains the model to be unsure, which is
    left out. What a label tells of membership it does not hide.
    """

    Parameters = Nothing
    summary = "keep the order of the classes, and replace their scores by fixed ones of high entropy"
    paper = "Chen and Pattabiraman 2024"
    equation = "Section IV (output modification)"
    consumes = CLASS_SCORES
    vectors = True
    by_head = True
    hides_confidence = True

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N); of equal scores the first class ranks higher."""
        classes = values.shape[1]
        falling = np.arange(classes, 0, -1) * 2.0 / (classes**2 + classes)
        order = np.argsort(-values, axis=1, kind="stable")
        result = np.empty_like(values)
        np.put_along_axis(result, order, np.broadcast_to(falling, values.shape), axis=1)
        return result

    @override
    def makes(self, release: Release) -> Release:
        """Probabilities."""
        return "softmax"

    @override
    def room(self, before: Room, release: Release) -> Room:
        """One of N! orders."""
        orders = math.lgamma(before.values + 1) / math.log(2.0)
        return Room(before.values, min(before.bits, orders), 0.0, 1.0, probabilities=True)
