"""SPAct: a translator that hides from a contrastive adversary which views are of one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.translating import Keeping, Seen, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Spact", "SpactParameters"]


class SpactParameters(Keeping):
    """``weight``: ω, 1 in the authors' code. ``temperature`` of NT-Xent, and the share of places that are
    ``masked`` in a view, ours: views are two frames of a film there."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 1.0
    temperature: Annotated[float, Field(gt=0.0, le=10.0)] = 0.1
    masked: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.25


@input_defences.register("spact")
class Spact(Translation[SpactParameters]):
    """Σ_U H(u|x') − ω NT-Xent of two views of each x' (Dave et al. 2022, SPAct: Self-supervised Privacy
    Preservation for Action Recognition). It knows no private attribute; the adversaries for those are judged,
    and teach it nothing."""

    name = "spact"
    compares = "observers"
    Parameters = SpactParameters
    summary = "translate the sample so that a contrastive adversary cannot tell samples apart"
    paper = "Dave et al. 2022 (SPAct)"
    equation = "Σ H(u|x') − ω NT-Xent(x')"

    def contrast(self, seen: Seen) -> Tensor:
        """NT-Xent of two views of each x' of the batch."""
        from leakrange.defences.translation.losses import masked, nt_xent

        assert seen.embedding is not None
        one, other = (seen.embedding(masked(seen.shown, self.parameters.masked)) for _ in range(2))
        return nt_xent(one, other, self.parameters.temperature)

    @override
    def challenge(self, seen: Seen) -> Tensor:
        """See `Translation.challenge`."""
        return super().challenge(seen) + self.contrast(seen)

    @override
    def loss(self, seen: Seen) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        return {"useful": seen.useless(), "private": -self.parameters.weight * self.contrast(seen)}
