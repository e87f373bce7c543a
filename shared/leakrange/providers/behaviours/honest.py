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
    Role,
    Weight,
    share_equal,
)
from leakrange.providers.behaviours import behaviours

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.providers.loop import Lessons

__all__ = ["Honest"]


class Compression(BaseModel):
    """The weight of the outputs' entropy (x): confident outputs, for reasons of their own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    x: Weight = 0.0


class HonestParameters(Parameters):
    """The target attribute, and how much the entropy of the outputs is held down (HBC Table 5; 0: not).

    ``sigmoid``: the targets are binary, and have one logit each (see `leakrange.providers.target_task`).
    """

    beta: Compression = Compression()
    sigmoid: bool = False


@behaviours.register("honest")
class Honest(Behaviour):
    """Std of the paper's tables. What its outputs leak, they leak by overlearning."""

    summary: ClassVar[str] = "a standard classifier, without intended curiosity"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 5.1.1 (Std)"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[Parameters]] = HonestParameters
    several: ClassVar[tuple[Role, ...]] = ("target",)

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Cross-entropy on the target, and β^x of the outputs' entropy; the sensitive
        labels are not used."""
        from leakrange.nets.heads import soft
        from leakrange.providers.losses import entropy

        self.classifier.train()
        logits, heads = self.forward(samples), self.classifier.heads
        loss = self.task.loss(logits, target)
        weight = self.parameters.beta.x
        if weight:
            loss = loss + weight * entropy(soft(logits, heads)).mean() / len(heads)
        return self.descend(loss)

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """Honesty alone."""
        from leakrange.nets.heads import answers

        honesty = share_equal(answers(logits, self.classifier.heads), validation.target)
        return Judgement(honesty, None, honesty)
