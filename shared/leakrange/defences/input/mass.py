"""MaSS: a translator that hides private attributes up to a margin, keeps useful ones, and all else that it
can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import ObfuscatorParameters
from leakrange.defences.input.translating import Seen, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Mass", "MassParameters"]


class MassParameters(ObfuscatorParameters):
    """``margin``: m, how many nats of each private attribute may be told; ``kept``: n, what share of the
    entropy of each useful one has to be. ``general``: μ, and its ``temperature`` τ, of the authors' code. The
    other defaults are ours, but that both penalties weigh 1."""

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
    def loss(self, seen: Seen) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.defences.translation.losses import entropy, info_nce, information

        given = self.parameters
        told = [information(*each) for each in seen.guesses()]
        lost = [given.kept * entropy(each[2]) - information(*each) for each in seen.kept]
        assert seen.embedding is not None
        alike = info_nce(seen.embedding(seen.shown), seen.embedding(seen.inputs), given.temperature)
        return {
            "private": sum((_violation(each - given.margin) for each in told), seen.nothing()),
            "useful": sum((_violation(each) for each in lost), seen.nothing()),
            "general": given.general * alike,
        }


def _violation(by: Tensor) -> Tensor:
    above = by.clamp(min=0.0)
    return above + above.square()
