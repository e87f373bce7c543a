"""MaSS: a translator that hides private attributes up to a margin, and keeps useful ones and all else that it
can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import ObfuscatorParameters
from leakrange.defences.input.translating import Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Mass", "MassParameters"]


class MassParameters(ObfuscatorParameters):
    """``margin``: m, the nats of each private attribute that may leak; ``kept``: n, the share of the entropy
    of each useful one that has to be kept. ``general``: μ, and its ``temperature`` τ, are those of the
    authors' code. So is the weight 1 of both penalties; the other defaults are ours."""

    margin: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    kept: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    general: Annotated[float, Field(ge=0.0, le=1e3)] = 0.2
    temperature: Annotated[float, Field(gt=0.0, le=10.0)] = 0.07


@input_defences.register("mass")
class Mass(Translation[MassParameters]):
    """Σ_S φ(I(x'; s) − m) + Σ_U φ(n − I(x'; u)) + μ InfoNCE(x', x) with φ(v) = max(0, v) + max(0, v)²
    (Chen et al. 2024, MaSS: Multi-attribute Selective Suppression). Both I are the protector's estimates
    H(·) − H(·|x'). The net that compares x' and x learns with T."""

    name = "mass"
    compares = "translator"
    Parameters = MassParameters
    summary = (
        "translate the sample so that no more of private attributes is told than a margin, and the rest is"
    )
    paper = "Chen et al. 2024 (MaSS)"
    equation = "Σ φ(I(x';s) − m) + Σ φ(n − I(x';u)) + μ InfoNCE(x', x)"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.defences.translation.losses import entropy, info_nce, information

        parameters = self.parameters
        private = [information(*each) for each in batch.guesses()]
        useful = [parameters.kept * entropy(each[2]) - information(*each) for each in batch.kept]
        assert batch.embedding is not None
        alike = info_nce(batch.embedding(batch.shown), batch.embedding(batch.inputs), parameters.temperature)
        return {
            "private": sum((_violation(each - parameters.margin) for each in private), batch.nothing()),
            "useful": sum((_violation(each) for each in useful), batch.nothing()),
            "general": parameters.general * alike,
        }


def _violation(by: Tensor) -> Tensor:
    above = by.clamp(min=0.0)
    return above + above.square()
