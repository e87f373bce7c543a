"""MSDA: a translator that makes the adversary err and doubt, and keeps activity and signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import ObfuscatorParameters
from leakrange.defences.input.translating import Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Msda", "MsdaParameters"]

Weight = Annotated[float, Field(ge=0.0, le=1e3)]


class MsdaParameters(ObfuscatorParameters):
    """``private_weight``: β_i. ``useful_weight``: β_a. ``distortion_weight``: β_d. The defaults are ours."""

    private_weight: Weight = 1.0
    useful_weight: Weight = 1.0
    distortion_weight: Weight = 1.0


@input_defences.register("msda")
class Msda(Translation[MsdaParameters]):
    """−β_i Σ_S [log(1 − p(s|x')) + log(1 − max p(·|x'))] + β_a Σ_U H(u|x') + β_d E‖x' − x‖² (Malekzadeh et
    al. 2019, Mobile Sensor Data Anonymization)."""

    name = "msda"
    Parameters = MsdaParameters
    summary = "translate the sample so that the protector's adversary errs and doubts, near to what it was"
    paper = "Malekzadeh et al. 2019 (MSDA)"
    equation = "−β_i Σ [log(1 − p_s) + log(1 − max p)] + β_a Σ H(u|x') + β_d E‖x' − x‖²"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.defences.translation.losses import evasion

        parameters = self.parameters
        evasions = sum((evasion(logits, labels) for logits, labels, _ in batch.guesses()), batch.nothing())
        return {
            "private": parameters.private_weight * evasions,
            "useful": parameters.useful_weight * batch.useless(),
            "distortion": parameters.distortion_weight * batch.distortion(),
        }
