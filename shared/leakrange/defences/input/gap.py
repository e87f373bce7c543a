"""GAP: a translator that makes the adversary err, within a bound on the distortion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import ObfuscatorParameters
from leakrange.defences.input.translating import Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Gap", "GapParameters"]


class GapParameters(ObfuscatorParameters):
    """``distortion``: D, the mean squared error that is allowed, in squared units of a net's input; .4 is
    that of MaSS's authors for values of deviation 1. ``penalty``: ρ, ours. Useful attributes only serve to
    judge it, and teach it nothing."""

    distortion: Annotated[float, Field(gt=0.0, le=1e6)] = 0.4
    penalty: Annotated[float, Field(gt=0.0, le=1e6)] = 100.0


@input_defences.register("gap")
class Gap(Translation[GapParameters]):
    """−Σ_S H(s|x') + ρ max(0, E‖x' − x‖² − D), by the penalty method (Huang et al. 2018, Generative
    Adversarial Privacy). As in the paper, T is given noise."""

    name = "gap"
    noisy = True
    Parameters = GapParameters
    summary = "translate the sample so that the protector's adversary errs, within a bound on the distortion"
    paper = "Huang et al. 2018 (GAP)"
    equation = "−Σ H(s|x') + ρ max(0, E‖x' − x‖² − D)"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        parameters = self.parameters
        beyond = (batch.distortion() - parameters.distortion).clamp(min=0.0)
        return {"private": -batch.mistaken(), "distortion": parameters.penalty * beyond}
