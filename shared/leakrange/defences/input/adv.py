"""ALR, the ADV of PASS's tables: a translator after which the adversary knows no more than the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.translating import Keeping, Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Adv", "AdvParameters"]


class AdvParameters(Keeping):
    """``weight``: λ. ``budget``: k, the nats that the adversary may learn of each private attribute. Both
    defaults are ours."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 10.0
    budget: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0


@input_defences.register("adv")
class Adv(Translation[AdvParameters]):
    """Σ_U H(u|x') + λ Σ_S max(0, KL(p(s|x') ‖ p(s)) − k)², by the protector's own classifiers (Bertran et
    al. 2019, Adversarially Learned Representations for Information Obfuscation and Inference). T is given
    noise, as there."""

    name = "adv"
    noisy = True
    Parameters = AdvParameters
    summary = "translate the sample so that the protector's adversary is left with the prior"
    paper = "Bertran et al. 2019 (ALR)"
    equation = "Σ H(u|x') + λ Σ max(0, KL(p(s|x') ‖ p(s)) − k)²"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.defences.translation.losses import divergence

        parameters = self.parameters
        divergences = [divergence(logits, prior) for logits, _, prior in batch.guesses()]
        above = sum(
            ((each - parameters.budget).clamp(min=0.0).square() for each in divergences), batch.nothing()
        )
        return {"useful": batch.useless(), "private": parameters.weight * above}
