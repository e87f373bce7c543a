"""SPAct: a translator that hides from a contrastive adversary which views are of one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.translating import Keeping, Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Spact", "SpactParameters"]


class SpactParameters(Keeping):
    """``weight``: ω, 1 in the authors' code. ``temperature`` is that of NT-Xent, ``masked`` the share of
    values set to 0 in a view. Masking is ours: in the paper views are two frames of a film."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 1.0
    temperature: Annotated[float, Field(gt=0.0, le=10.0)] = 0.1
    masked: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.25


@input_defences.register("spact")
class Spact(Translation[SpactParameters]):
    """Σ_U H(u|x') − ω NT-Xent of two views of each x' (Dave et al. 2022, SPAct: Self-supervised Privacy
    Preservation for Action Recognition). It knows no private attribute; the adversaries for those only serve
    to judge it, and teach it nothing."""

    name = "spact"
    compares = "observers"
    Parameters = SpactParameters
    summary = "translate the sample so that a contrastive adversary cannot tell samples apart"
    paper = "Dave et al. 2022 (SPAct)"
    equation = "Σ H(u|x') − ω NT-Xent(x')"

    def contrast(self, batch: Observation) -> Tensor:
        """NT-Xent of two views of each x' of the batch."""
        from leakrange.defences.translation.losses import masked, nt_xent

        assert batch.embedding is not None
        first, second = (batch.embedding(masked(batch.shown, self.parameters.masked)) for _ in range(2))
        return nt_xent(first, second, self.parameters.temperature)

    @override
    def challenge(self, batch: Observation) -> Tensor:
        """See `Translation.challenge`."""
        return super().challenge(batch) + self.contrast(batch)

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        return {"useful": batch.useless(), "private": -self.parameters.weight * self.contrast(batch)}
