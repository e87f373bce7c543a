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
    """Move each answer to where the defender's classifier says 1/2, as far as ``distortion`` allows, and keep
    its label.

    A simple form of MemGuard: the classifier is a logistic regression, and no neural net; in place of a
    descent on logits the answer moves on the line to the flattest, or the surest, answer of the same label,
    where the place is a quotient (the classifier is linear there, since the order of classes stays), so the
    move is not the least one; and in place of a coin, which keeps the expected distortion, each answer moves
    within the bound. So a repeat gets the same answer. What a label tells of membership it does not hide.
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
        rows, classes = np.arange(len(values)), values.shape[1]
        label = values.argmax(axis=1)
        flat = np.full_like(values, (1.0 - LEAD) / classes)
        flat[rows, label] += LEAD
        sure = np.zeros_like(values)
        sure[rows, label] = 1.0
        own = self._says_member(values)
        result, best = values, np.full(len(values), np.inf)
        for end in (flat, sure):
            there, far = self._says_member(end), np.abs(end - values).sum(axis=1)
            across = own * there < 0.0
            share = np.where(across, own / np.where(across, own - there, 1.0), 0.0)
            length = np.where(across, share * far, np.inf)
            share = np.minimum(share, self.parameters.distortion / np.maximum(far, 1e-12))
            nearer = (length < best)[:, np.newaxis]
            result = np.where(nearer, values + share[:, np.newaxis] * (end - values), result)
            best = np.minimum(best, length)
        # A tie may come of rounding: such an answer stays as it was.
        same = result.astype(np.float32).argmax(axis=1) == label
        return np.where(same[:, np.newaxis], result, values)

    def _says_member(self, values: Values) -> Values:
        """The classifier's log-odds (B,): above 0 it takes a sample for a member."""
        weights = np.array(self.parameters.weights)[: values.shape[1]]
        falling = -np.sort(-values, axis=1)[:, : len(weights)]
        return np.asarray(falling @ weights + self.parameters.bias)

    @override
    def room(self, before: Room, release: Release) -> Room:
        """Probabilities, where they were some."""
        return Room(before.values, before.bits, before.low, before.high, before.probabilities)
