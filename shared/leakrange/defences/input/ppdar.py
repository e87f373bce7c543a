"""PPDAR: a translator against an ensemble of adversaries, which start anew by turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.translating import Keeping, Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Ppdar", "PpdarParameters"]


class PpdarParameters(Keeping):
    """``weight``: γ. ``adversaries``: their number. ``restart``: the epochs after which the next of them
    starts anew. None restarts in the last epochs, so that all have learnt in the end. The defaults are ours.
    """

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 1.0
    adversaries: Annotated[int, Field(ge=1, le=16)] = 4
    restart: Annotated[int, Field(ge=1, le=1000)] = 10


@input_defences.register("ppdar")
class Ppdar(Translation[PpdarParameters]):
    """Σ_U H(u|x') − γ min_k Σ_S H_k(s|x'), against the best of K adversaries (Wu et al. 2020,
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
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        import torch

        best = torch.stack([batch.mistaken(each) for each in range(self.adversaries)]).min()
        return {"useful": batch.useless(), "private": -self.parameters.weight * best}

    @override
    def restarted(self, epoch: int) -> int | None:
        """See `Translation.restarted`."""
        parameters = self.parameters
        turn, between = divmod(epoch, parameters.restart)
        if between or epoch > parameters.epochs - parameters.restart:
            return None
        return turn % parameters.adversaries
