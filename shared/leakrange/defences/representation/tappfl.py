"""TAPPFL: features with the least information about a private attribute and the most about the sample, for no
task in particular."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedParameters, FederatedRepresentation

if TYPE_CHECKING:
    from leakrange.defences.games.game import Game, Sizes

__all__ = ["Tappfl", "TappflParameters"]


class TappflParameters(FederatedParameters):
    """``strength``: the paper's λ, from 0 (keep everything) to 1 (only hide)."""

    strength: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    useful: None = None


@representation_defences.register("tappfl")
class Tappfl(FederatedRepresentation[TappflParameters]):
    """The extractor minimises -λ·CE + (1-λ)·JSD: the cross-entropy of an adversary that infers the private
    attribute from the features, and the Jensen-Shannon estimate of the features' information about the
    sample, given the attribute.

    Algorithm 1 prints λ·CE without the minus sign; Equation 7 and the text have the extractor maximise the
    adversary's loss.
    """

    name = "tappfl"
    Parameters = TappflParameters
    summary = "features that hide one attribute and keep what else the sample tells, learned by devices"
    equation = "Equation 7"
    shorthand = None

    @override
    def game(self, sizes: Sizes) -> Game:
        """See `FederatedRepresentation.game`."""
        from leakrange.defences.games.information import InformationGame

        return InformationGame(sizes, self.parameters.strength, self.parameters.critics)
