"""BDQ: a translator that makes the adversary uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.translating import Keeping, Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Bdq", "BdqParameters"]


class BdqParameters(Keeping):
    """``weight``: α; the default is ours."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 2.0


@input_defences.register("bdq")
class Bdq(Translation[BdqParameters]):
    """Σ_U H(u|x') − α Σ_S H(p(·|x')), the entropy of the adversary's answers (Kumawat & Nagahara 2022,
    Privacy-Preserving Action Recognition via Motion Difference Quantization). Their encoder of blur,
    difference and quantisation is for video; this is its training, of a translator for any sample."""

    name = "bdq"
    Parameters = BdqParameters
    summary = "translate the sample so that the protector's adversary is uncertain"
    paper = "Kumawat & Nagahara 2022 (BDQ)"
    equation = "Σ H(u|x') − α Σ H(p(·|x'))"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.providers.losses import entropy

        doubt = sum((entropy(logits.softmax(1)).mean() for logits, _, _ in batch.guesses()), batch.nothing())
        return {"useful": batch.useless(), "private": -self.parameters.weight * doubt}
