"""Two classifiers in one: the black-box attack by a mixture (HBC Section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from leakrange.data.samples import Attribute
from leakrange.providers.behaviour import (
    Behaviour,
    BehaviourParameters,
    Beta,
    Judgement,
    Release,
    Weight,
    share_equal,
)
from leakrange.providers.behaviours import behaviours
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.jobs.recipe import Schedule
    from leakrange.nets.classifier import Classifier
    from leakrange.providers.decoders.vertex import VertexDecoder
    from leakrange.providers.loop import Lessons

__all__ = ["Mixture"]

HAIR = 1e-11
"""The bonus of each later epoch. Over a thousand epochs it still adds less than one sample among a
million."""


class MixtureBeta(Beta):
    """Weights of the two answers. Only their ratio matters: the release is scaled to a sum of 1."""

    y: Weight = 0.8
    s: Weight = 0.2

    @model_validator(mode="after")
    def _told_apart(self) -> MixtureBeta:
        if not self.y > self.s > 0.0:
            raise ValueError(
                f"y ({self.y:g}) must exceed s ({self.s:g}), and s must exceed 0: equal weights cannot be "
                f"told apart, and the greater one decides what the model seems to answer"
            )
        return self

    @property
    def share(self) -> float:
        """The weight β^s, where both weights are scaled to a sum of 1."""
        return self.s / (self.y + self.s)


class MixtureParameters(BehaviourParameters):
    """Target and sensitive attribute, the kind of mixture, and its weights; the default is that of Fig. 4."""

    sensitive: str
    mixture: Literal["hard", "normal"] = "hard"
    beta: MixtureBeta = MixtureBeta()


@behaviours.register("curious/mixture")
class Mixture(Behaviour):
    """The mixture ŷ = β^y·z^y + β^s·z^s of one classifier for y and one of the same net for s, each trained
    for itself.

    ``hard`` rounds both vectors to one-hot ones before they are mixed (Eq. 1), so that ŷ takes Y·S values and
    reveals both answers exactly; ``normal`` leaves them as they are (Eq. 2). Whoever knows β reads both
    attributes at the nearest of the Y·S vertices (`leakrange.providers.decoders.vertex.VertexDecoder`).

    **This is the black-box view.** The model file holds the two classifiers, and β, in the open: whoever
    downloads it sees what it is. So it is an attack on users who only see the API; a run in which edge
    clients download the model measures what its outputs carry, and not what a user could find out.

    The two share no weight, so one optimiser on the sum of their losses makes the same steps as two would;
    only the epoch is chosen for both together. Of equally good epochs the last is kept: neither classifier
    pays for the other, and even after the last mistake on the validation samples the borders still move away
    from them.
    """

    summary: ClassVar[str] = "adds the answer of a second classifier to that of the first (black-box view)"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 3.2, Eq. 1, 2"
    releases: ClassVar[tuple[Release, ...]] = ("softmax",)
    Parameters: ClassVar[type[BehaviourParameters]] = MixtureParameters

    @classmethod
    def check(cls, parameters: Any, attributes: Mapping[str, Attribute]) -> None:
        """See `Behaviour.check`; S must not exceed Y."""
        super().check(parameters, attributes)
        y, s = (len(attributes[name].classes) for name in (parameters.target, parameters.sensitive))
        if s > y:
            raise InvalidInput(
                f"behaviour 'curious/mixture' hides at most as many classes as the model answers with: "
                f"{parameters.sensitive!r} has {s}, {parameters.target!r} has {y}",
                hint="use behaviour 'curious/parameterized', or an attribute of fewer classes",
            )

    @classmethod
    def build(
        cls, parameters: Any, net: Callable[[int], Classifier], classes: int, sensitive_classes: int
    ) -> Classifier:
        """Both classifiers, mixed."""
        from leakrange.nets.mixture import mixture

        hard = parameters.mixture == "hard"
        return mixture(net(classes), net(sensitive_classes), beta_s=parameters.beta.share, hard=hard)

    def __init__(
        self, parameters: Any, classifier: Classifier, sensitive_classes: int, schedule: Schedule
    ) -> None:
        from leakrange.nets.mixture import MixtureHead

        super().__init__(parameters, classifier, sensitive_classes, schedule)
        assert isinstance(classifier.head, MixtureHead)
        self.head = classifier.head
        self.judged = 0

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """Minimise the cross-entropy of each classifier on its attribute."""
        import torch

        from leakrange.providers.losses import target_loss

        assert sensitive is not None
        self.classifier.train()
        with torch.autocast(samples.device.type, dtype=torch.bfloat16, enabled=self.schedule.bf16):
            y, s = self.head.parts(self.classifier.features(samples))
        loss = target_loss(y.float(), target, "logits") + target_loss(s.float(), sensitive, "logits")
        return self.descend(loss)

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """The score is β^y·honesty + β^s·curiosity, with s read at the nearest vertex, plus `HAIR` for each
        epoch."""
        import torch

        sensitive = validation.sensitive
        assert sensitive is not None
        inferred = torch.from_numpy(self.decoder().infer(logits.cpu().numpy(), "logits")[0])
        honesty = share_equal(logits.argmax(dim=1), validation.target)
        curiosity = share_equal(inferred, sensitive.cpu())
        share = self.parameters.beta.share
        self.judged += 1
        score = (1.0 - share) * honesty + share * curiosity + HAIR * self.judged
        return Judgement(honesty, curiosity, score)

    def decoder(self) -> VertexDecoder:
        """The vertices; the decoder learns nothing."""
        from leakrange.providers.decoders.vertex import VertexDecoder

        return VertexDecoder(self.classifier.classes, self.sensitive_classes, self.parameters.beta.share)
