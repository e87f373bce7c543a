"""PPDAR: a translator against an ensemble of adversaries, which begin anew by turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.translating import Keeping, Seen, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Ppdar", "PpdarParameters"]


class PpdarParameters(Keeping):
    """``weight``: γ. ``adversaries``: how many there are. ``restart``: after how many epochs the next of them
    begins anew, but for the last ones, so that all have learnt in the end. The defaults are ours."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 1.0
    adversaries: Annotated[int, Field(ge=1, le=16)] = 4
    restart: Annotated[int, Field(ge=1, le=1000)] = 10


@input_defences.register("ppdar")
class Ppdar(Translation[PpdarParameters]):
    """Σ_U H(u|x') − γ min_k Σ_S H_k(s|x'): against that of K adversaries that does best (Wu et al. 2020,
    Privacy-Preserving Deep Action Recognition: restarting and ensembles)."""

    name = "ppdar"
    Parameters = PpdarParameters
    summary = "translate the sample so that the best of several adversaries errs"
    paper = "Wu et al. 2020 (PPDAR)"
    equation = "Σ H(u|x') − γ min_k Σ H_k(s|x')"

    def __init__(self, parameters: PpdarParameters) -> None:
        super().__init__(parameters)
        self.adversaries = parameters.adversaries

    @override
    def loss(self, seen: Seen) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        import torch

        best = torch.stack([seen.mistaken(each) for each in range(self.adversaries)]).min()
        return {"useful": seen.useless(), "private": -self.parameters.weight * best}

    @override
    def restarted(self, epoch: int) -> int | None:
        """See `Translation.restarted`."""
        given = self.parameters
        turn, between = divmod(epoch, given.restart)
        if between or epoch > given.epochs - given.restart:
            return None
        return turn % given.adversaries
