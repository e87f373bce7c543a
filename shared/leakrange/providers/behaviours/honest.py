"""The standard classifier: cross-entropy on the target, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.providers.behaviour import RELEASES, Behaviour, Judgement, Parameters, Release, share_equal
from leakrange.providers.behaviours import behaviours

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Honest"]


class HonestParameters(Parameters):
    """Only the target attribute."""


@behaviours.register("honest")
class Honest(Behaviour):
    """Std of the paper's tables. What its outputs leak, they leak by overlearning."""

    summary: ClassVar[str] = "a standard classifier, without intended curiosity"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 5.1.1 (Std)"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[Parameters]] = HonestParameters

    def step(self, images: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Cross-entropy on the target; nobody asks for the sensitive labels."""
        from leakrange.providers.losses import target_loss

        self.classifier.train()
        return self.descend(target_loss(self.forward(images), target, "logits"))

    def judge(self, logits: Tensor, target: Tensor, sensitive: Tensor | None) -> Judgement:  # noqa: ARG002
        """Honesty alone."""
        honesty = share_equal(logits.argmax(dim=1), target)
        return Judgement(honesty, None, honesty)
