"""The standard classifier: cross-entropy on the target, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict

from leakrange.providers.behaviour import (
    RELEASES,
    Behaviour,
    Judgement,
    Parameters,
    Release,
    Weight,
    share_equal,
)
from leakrange.providers.behaviours import behaviours

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Honest"]


class Compression(BaseModel):
    """The weight of the outputs' entropy (x): confident outputs, for reasons of their own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    x: Weight = 0.0


class HonestParameters(Parameters):
    """The target attribute, and how much the entropy of the outputs is held down (HBC Table 5; 0: not)."""

    beta: Compression = Compression()


@behaviours.register("honest")
class Honest(Behaviour):
    """Std of the paper's tables. What its outputs leak, they leak by overlearning."""

    summary: ClassVar[str] = "a standard classifier, without intended curiosity"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 5.1.1 (Std)"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[Parameters]] = HonestParameters

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Cross-entropy on the target, and β^x of the outputs' entropy; nobody asks for the sensitive
        labels."""
        from leakrange.providers.losses import entropy, target_loss

        self.classifier.train()
        logits = self.forward(samples)
        loss = target_loss(logits, target, "logits")
        weight = self.parameters.beta.x
        if weight:
            loss = loss + weight * entropy(logits.softmax(dim=1)).mean()
        return self.descend(loss)

    def judge(self, logits: Tensor, target: Tensor, sensitive: Tensor | None) -> Judgement:  # noqa: ARG002
        """Honesty alone."""
        honesty = share_equal(logits.argmax(dim=1), target)
        return Judgement(honesty, None, honesty)
