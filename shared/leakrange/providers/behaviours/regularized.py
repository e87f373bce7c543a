"""The regularized curious classifier: a binary s in the entropy of soft outputs (HBC Section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.providers.behaviour import (
    Behaviour,
    BehaviourParameters,
    CuriousParameters,
    Judgement,
    Release,
    Role,
    share_equal,
)
from leakrange.providers.behaviours import behaviours

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.providers.decoders.threshold import ThresholdDecoder
    from leakrange.providers.loop import Lessons

__all__ = ["Regularized"]


@behaviours.register("curious/regularized")
class Regularized(Behaviour):
    """Low entropy means s = 0, high entropy s = 1; the argmax still answers y.

    The threshold τ of Eq. 4 is on the entropy in nats. It is tuned on the validation samples after every
    epoch, over every value that separates two of their entropies, and the epoch is judged with it; so F and τ
    come from the same epoch.
    """

    summary: ClassVar[str] = "hides a binary attribute in the entropy of its soft outputs"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Eq. 3, 4"
    releases: ClassVar[tuple[Release, ...]] = ("softmax",)
    Parameters: ClassVar[type[BehaviourParameters]] = CuriousParameters
    binary: ClassVar[tuple[Role, ...]] = ("sensitive",)

    tau: float = 0.0

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """Minimise the loss of Eq. 3."""
        from leakrange.providers.losses import regularized_loss

        assert sensitive is not None
        self.classifier.train()
        soft = self.forward(samples).softmax(dim=1)
        beta = self.parameters.beta
        return self.descend(regularized_loss(soft, target, sensitive, beta_y=beta.y, beta_s=beta.s))

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """Tune τ; the score is β^y·honesty + β^s·curiosity with it."""
        from leakrange.metrics.roc import most_accurate_threshold
        from leakrange.providers.losses import entropy

        sensitive = validation.sensitive
        assert sensitive is not None
        entropies = entropy(logits.softmax(dim=1)).cpu().numpy()
        self.tau, curiosity = most_accurate_threshold(entropies, sensitive.cpu().numpy())
        honesty = share_equal(logits.argmax(dim=1), validation.target)
        return self.weighed(honesty, curiosity)

    def decoder(self) -> ThresholdDecoder:
        """The threshold of the last `judge`."""
        from leakrange.providers.decoders.threshold import ThresholdDecoder

        return ThresholdDecoder(self.tau, self.classifier.classes)
