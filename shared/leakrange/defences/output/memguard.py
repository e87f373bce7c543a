"""Probabilities that a membership classifier of the defender's cannot judge."""

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

__all__ = ["MemGuard"]

SOFTMAX: frozenset[Release] = frozenset({"softmax"})
LEAD = 1e-3
"""What the label is ahead by in the flattest answer."""


class MemGuardParameters(Parameters):
    """``weights`` and ``bias``: of the defender's own membership classifier, a logistic regression on a
    sample's probabilities in falling order, as fitted on those of shadow models about their members (1) and
    others (0). ``distortion``: the most that an answer may move, as the sum of its probabilities' moves."""

    weights: Annotated[list[float], Field(min_length=1, max_length=1000)]
    bias: float
    distortion: Annotated[float, Field(gt=0, le=2)] = 1.0


@output_defences.register("memguard")
class MemGuard(OutputDefence[MemGuardParameters]):
    """Move each answer towards one of the same label at which the defender's classifier says 1/2, as far as
    ``distortion`` allows: there all other classes are equal. Where none exists, answers stay as they are.

    A simple form of MemGuard. The classifier is a logistic regression, and no neural net. The place is solved
    for (the classifier is linear there), and not sought by a descent on logits from each answer, so that the
    move is not the least one. In place of a coin that keeps the expected distortion, each answer moves within
    the bound, so that a repeat gets the same answer. What a label tells of membership it does not hide.
    """

    Parameters = MemGuardParameters
    summary = "move probabilities to where a membership classifier says 1/2, without changing the label"
    paper = "Jia et al. 2019"
    equation = "Section 4 (Phase I; Phase II is replaced by a bound)"
    consumes = SOFTMAX
    vectors = True
    by_head = True
    hides_confidence = True

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N). Weights beyond N, and classes beyond the weights, do not count."""
        classes, label = values.shape[1], values.argmax(axis=1, keepdims=True)
        flattest = (1.0 - LEAD) / classes + LEAD
        lead = np.array([flattest, 1.0])
        ends = np.repeat((1.0 - lead[:, np.newaxis]) / max(classes - 1, 1), classes, axis=1)
        ends[:, 0] = lead
        flat, sure = self._says_member(ends)
        if flat * sure >= 0.0:
            return values
        undecided = ends[0] + flat / (flat - sure) * (ends[1] - ends[0])
        goal = np.full_like(values, undecided[-1])
        np.put_along_axis(goal, label, undecided[0], axis=1)
        length = np.abs(goal - values).sum(axis=1, keepdims=True)
        share = np.minimum(1.0, self.parameters.distortion / np.maximum(length, 1e-12))
        result = values + share * (goal - values)
        # A tie may come of rounding: such an answer stays as it was.
        same = result.astype(np.float32).argmax(axis=1, keepdims=True) == label
        return np.where(same, result, values)

    def _says_member(self, values: Values) -> Values:
        """The classifier's log-odds (B,): above 0 it takes a sample for a member."""
        weights = np.array(self.parameters.weights)[: values.shape[1]]
        falling = -np.sort(-values, axis=1)[:, : len(weights)]
        return np.asarray(falling @ weights + self.parameters.bias)

    @override
    def room(self, before: Room, release: Release) -> Room:
        """Probabilities, where they were some."""
        return Room(before.values, before.bits, before.low, before.high, before.probabilities)
