"""The base of defences that hide by what a device sends, and not by what the extractor learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from leakrange.defences.representation.federated import FederatedParameters, FederatedRepresentation

if TYPE_CHECKING:
    from leakrange.defences.games.game import Game, Sizes

__all__ = ["AgnosticParameters", "Informative"]


class AgnosticParameters(FederatedParameters):
    """``private`` is the attribute that a device's adversary watches: the extractor is not trained against
    it."""

    useful: None = None


T = TypeVar("T", bound=AgnosticParameters)


class Informative(FederatedRepresentation[T]):
    """A defence whose extractor learns as TAPPFL's with λ = 0: features that tell the most of the sample."""

    @override
    def game(self, sizes: Sizes) -> Game:
        """See `FederatedRepresentation.game`."""
        from leakrange.defences.games.information import InformationGame

        return InformationGame(sizes, 0.0, self.parameters.critics)
