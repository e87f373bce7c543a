"""A classifier that is trained to separate its classes by an angle, like face recognisers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from leakrange.providers.behaviour import (
    RELEASES,
    Behaviour,
    BehaviourParameters,
    Judgement,
    Release,
    share_equal,
)
from leakrange.providers.behaviours import behaviours

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from leakrange.nets.classifier import Classifier
    from leakrange.providers.loop import Lessons

__all__ = ["Margin"]


class MarginParameters(BehaviourParameters):
    """The target attribute. Logits are ``scale`` times cosines, and in training the true class's cosine has
    to exceed all others by ``margin``; the served model has no margin."""

    scale: Annotated[float, Field(gt=0.0, le=1000.0)] = 30.0
    margin: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.35


@behaviours.register("honest/margin")
class Margin(Behaviour):
    """An honest classifier by the cosines of its features (CosFace), in place of their inner products."""

    summary: ClassVar[str] = "a classifier by cosines, trained with a margin, without intended curiosity"
    paper: ClassVar[str] = "CosFace (Wang et al. 2018)"
    equation: ClassVar[str] = "Eq. 4"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[BehaviourParameters]] = MarginParameters

    @classmethod
    def build(
        cls,
        parameters: Any,
        net: Callable[[int], Classifier],
        classes: int,
        sensitive_classes: int,  # noqa: ARG003
    ) -> Classifier:
        """See `Behaviour.build`; raises `ValueError` for a net whose head is not one linear layer."""
        from leakrange.nets.last_layers import with_cosines

        return with_cosines(net(classes), parameters.scale)

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Minimise the cross-entropy with the margin; the sensitive labels are not used."""
        from leakrange.providers.margin_loss import margin_loss

        self.classifier.train()
        logits = self.forward(samples)
        scale, margin = self.parameters.scale, self.parameters.margin
        return self.descend(margin_loss(logits, target, scale=scale, margin=margin))

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """The score is honesty alone, without the margin."""
        honesty = share_equal(logits.argmax(dim=1), validation.target)
        return Judgement(honesty, None, honesty)
