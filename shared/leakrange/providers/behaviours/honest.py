"""The standard classifier: cross-entropy on the target, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.providers.behaviour import (
    RELEASES,
    Behaviour,
    BehaviourParameters,
    Judgement,
    Release,
    Role,
    Weight,
    share_equal,
)
from leakrange.providers.behaviours import behaviours
from leakrange.strict import Strict

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.providers.loop import Lessons

__all__ = ["Honest"]


class Compression(Strict):
    """The weight of the outputs' entropy (x): confident outputs, for reasons of their own."""

    x: Weight = 0.0


class HonestParameters(BehaviourParameters):
    """The target attribute, and the weight of the outputs' entropy (HBC Table 5; 0: none).

    ``sigmoid``: the targets are binary, and have one logit each (see `leakrange.providers.target_task`).
    """

    beta: Compression = Compression()
    sigmoid: bool = False


@behaviours.register("honest")
class Honest(Behaviour):
    """The classifier Std of the paper's tables. Its outputs leak only by overlearning."""

    summary: ClassVar[str] = "a standard classifier, without intended curiosity"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 5.1.1 (Std)"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[BehaviourParameters]] = HonestParameters
    several: ClassVar[tuple[Role, ...]] = ("target",)
    stacks: ClassVar[bool] = True

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Minimise the cross-entropy on the target, and β^x times the outputs' entropy; the sensitive labels
        are not used."""
        self.classifier.train()
        return self.descend(self.loss(self.forward(samples), target))

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """See `Behaviour.loss`."""
        from leakrange.nets.heads import soft
        from leakrange.providers.losses import entropy

        heads = self.classifier.heads
        loss = self.task.loss(logits, target)
        weight = self.parameters.beta.x
        if weight:
            loss = loss + weight * entropy(soft(logits, heads)).mean() / len(heads)
        return loss

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """The score is honesty alone."""
        from leakrange.nets.heads import answers

        honesty = share_equal(answers(logits, self.classifier.heads), validation.target)
        return Judgement(honesty, None, honesty)
