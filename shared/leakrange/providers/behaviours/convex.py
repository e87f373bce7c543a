"""One output for two attributes: the convex case (HBC Section 3.1, Appendix A)."""

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

    from leakrange.providers.decoders.argmax import ArgmaxDecoder
    from leakrange.providers.loop import Lessons

__all__ = ["Convex"]


@behaviours.register("curious/convex")
class Convex(Behaviour):
    """The same output is trained to be right about y and about s: β^y·L^y + β^s·L^s on one ŷ.

    With net ``linear`` the loss is convex in all weights. s is read from ŷ by the threshold that decides y,
    so on independent attributes every point of curiosity is paid for with one of honesty: δ^y = 1.5 − δ^s.
    """

    summary: ClassVar[str] = (
        "answers for the target and the hidden attribute at once, by one and the same output"
    )
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 3.1, Eq. 12"
    releases: ClassVar[tuple[Release, ...]] = ("softmax", "logits")
    Parameters: ClassVar[type[BehaviourParameters]] = CuriousParameters
    binary: ClassVar[tuple[Role, ...]] = ("target", "sensitive")

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """Eq. 12."""
        from leakrange.providers.losses import convex_loss

        assert sensitive is not None
        self.classifier.train()
        beta = self.parameters.beta
        return self.descend(
            convex_loss(self.forward(samples), target, sensitive, beta_y=beta.y, beta_s=beta.s)
        )

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """β^y·honesty + β^s·curiosity, both by the greatest output."""
        sensitive = validation.sensitive
        assert sensitive is not None
        answer = logits.argmax(dim=1)
        return self.weighed(share_equal(answer, validation.target), share_equal(answer, sensitive))

    def decoder(self) -> ArgmaxDecoder:
        """The greatest output; the decoder learns nothing."""
        from leakrange.providers.decoders.argmax import ArgmaxDecoder

        return ArgmaxDecoder(self.classifier.classes)
