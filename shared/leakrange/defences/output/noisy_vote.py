"""A private answer of many models: the winner of their votes, counted with noise."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from leakrange.defences.output.base import Parameters, ReleaseContext, Values, output_defences
from leakrange.defences.output.class_scores import Decision, one_hot
from leakrange.metrics import softmax
from leakrange.wire.errors import InvalidInput

__all__ = ["NoisyVote", "epsilon_of", "price_of"]

WHOLE = 0.05
"""The most that a count of votes may miss a whole number by, as float32 leaves it."""


class NoisyVoteParameters(Parameters):
    """``voters``: the number of models that vote. ``sigma``: the standard deviation of the noise on the
    number of votes of each class."""

    voters: Annotated[int, Field(ge=2, le=1000, strict=True)]
    sigma: Annotated[float, Field(ge=0.01, le=1e6)]


@output_defences.register("noisy-vote")
class NoisyVote(Decision[NoisyVoteParameters]):
    """Add N(0, σ²) to each class's number of votes, and release the class that has the most, as a one-hot
    vector (GNMax).

    It takes the answers of a provider of behaviour ``honest/ensemble``: for each class the share of
    ``voters`` models that chose it, each model trained on a part of the data that no other has seen. One
    training record moves one vote from a class to another, so an answer is (λ, λ/σ²)-RDP for all λ ≥ 1, which
    is zCDP of ρ = 1/σ². What several answers cost adds up. Each is paid for, a repeat as well, whose noise is
    drawn afresh.
    """

    Parameters = NoisyVoteParameters
    summary = "count the votes of an ensemble with Gaussian noise, and release the class that wins"
    paper = "Papernot et al. 2018"
    equation = "Section 4.1 (GNMax), Proposition 8"

    @property
    @override
    def deterministic(self) -> bool:
        """Never."""
        return False

    @property
    @override
    def price(self) -> float:
        """ρ = 1/σ²."""
        return self.parameters.sigma**-2

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N) of zeros and ones. Raises `InvalidInput` for values that are no shares of so many
        votes, since the promise would not hold for them."""
        voters = self.parameters.voters
        votes = voters * (softmax(values) if context.release == "logits" else values)
        counts = np.rint(votes)
        off = np.abs(votes - counts).max(initial=0.0) > WHOLE
        if off or counts.min(initial=0.0) < 0.0 or not (counts.sum(axis=1) == voters).all():
            raise InvalidInput(
                f"the answers are not the votes of {voters} models",
                hint="noisy-vote takes a provider of behaviour 'honest/ensemble' with the same number of "
                "voters, and stands first in its chain",
            )
        return one_hot(counts + self.parameters.sigma * context.draw.standard_normal(counts.shape))


def epsilon_of(price: float, delta: float) -> float:
    """The least ε ≥ 0 that zCDP of ρ = ``price`` ≥ 0 promises at 0 < ``delta`` < 1: ρ + 2·√(ρ·ln(1/δ)).

    It is the best λ in Papernot et al. 2018, Theorem 5, and Bun and Steinke 2016, Proposition 1.3.
    """
    return price + 2.0 * math.sqrt(price * -math.log(delta))


def price_of(epsilon: float, delta: float) -> float:
    """The largest ρ whose `epsilon_of` is at most ``epsilon`` ≥ 0."""
    # The usual form, √(ln(1/δ) + ε) − √ln(1/δ), loses its digits where ε is small.
    rest = -math.log(delta)
    return (epsilon / (math.sqrt(rest + epsilon) + math.sqrt(rest))) ** 2
