"""One output for two attributes: the convex case (HBC Section 3.1, Appendix A)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from leakrange.data.samples import Attribute
from leakrange.providers.behaviour import Behaviour, Beta, Judgement, Parameters, Release, share_equal
from leakrange.providers.behaviours import behaviours
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.providers.decoders.argmax import ArgmaxDecoder

__all__ = ["Convex"]


class ConvexParameters(Parameters):
    """Target and sensitive attribute, and the weights β^y, β^s of Eq. 12."""

    sensitive: str
    beta: Beta = Beta()


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
    Parameters: ClassVar[type[Parameters]] = ConvexParameters

    @classmethod
    def check(cls, parameters: Any, attributes: Mapping[str, Attribute]) -> None:
        """Besides the names: y and s must be binary."""
        super().check(parameters, attributes)
        for role in ("target", "sensitive"):
            name = getattr(parameters, role)
            classes = len(attributes[name].classes)
            if classes != 2:
                raise InvalidInput(
                    f"behaviour 'curious/convex' is for two binary attributes; "
                    f"{name!r} has {classes} classes",
                    hint="use behaviour 'curious/parameterized', or attributes of two classes",
                )

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """Eq. 12."""
        from leakrange.providers.losses import convex_loss

        assert sensitive is not None
        self.classifier.train()
        beta = self.parameters.beta
        return self.descend(
            convex_loss(self.forward(samples), target, sensitive, beta_y=beta.y, beta_s=beta.s)
        )

    def judge(self, logits: Tensor, target: Tensor, sensitive: Tensor | None) -> Judgement:
        """β^y·honesty + β^s·curiosity, both by the greatest output."""
        assert sensitive is not None
        answer = logits.argmax(dim=1)
        honesty, curiosity = share_equal(answer, target), share_equal(answer, sensitive)
        beta = self.parameters.beta
        return Judgement(honesty, curiosity, beta.y * honesty + beta.s * curiosity)

    def decoder(self) -> ArgmaxDecoder:
        """The greatest output; nothing of it is learned."""
        from leakrange.providers.decoders.argmax import ArgmaxDecoder

        return ArgmaxDecoder(self.classifier.classes)
