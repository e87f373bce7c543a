"""The parameterized curious classifier: F and its attack G are trained together (HBC Section 4.3, Algorithm
1)."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from leakrange.data.samples import Attribute, Names, names
from leakrange.providers.behaviour import (
    Behaviour,
    BehaviourParameters,
    Beta,
    Judgement,
    Release,
    Role,
    Weight,
    share_equal,
)
from leakrange.providers.behaviours import behaviours
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.jobs.recipe import Schedule
    from leakrange.nets.classifier import Classifier
    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.decoders.net import NetDecoder
    from leakrange.providers.loop import Lessons

__all__ = ["Parameterized"]

DROPOUT = 0.25
"""The dropout of the published G."""


class CompressedBeta(Beta):
    """Weights of Eq. 10, which also has one for the outputs' entropy (x)."""

    x: Weight = 0.0


class DecoderTraining(Strict):
    """How G learns beside F: its learning rate (None: the schedule's), its dropout, and how many steps it
    makes for each step of F."""

    lr: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = DROPOUT
    steps: Annotated[int, Field(ge=1, le=100)] = 1


class WarmStart(Strict):
    """For so many ``epochs`` F writes s into the entropy of its soft outputs, and G learns to read it there.

    A soft output of two classes is one number p, and its side of ½ is the answer. Only the distance from ½ is
    left for s, and a fresh G does not read that: its gradient pulls p itself, against the answer. With more
    classes G finds too little to read where F is sure of y.
    """

    epochs: Annotated[int, Field(ge=1, le=1000)]


class ParameterizedParameters(BehaviourParameters):
    """Attributes, weights, the release that G reads, and the number of passes through F in a step.

    ``passes``: "one" is Algorithm 1, where G learns from the outputs that F gives in training mode; "two" is
    what the paper's authors ran: F gives G's lesson in eval mode (running statistics, no dropout), then its
    own in training mode.

    ``logarithm``: G reads the logarithms of soft outputs. They are the same release, but where F is sure of y
    its probabilities are close to 0 and 1, and hardly a gradient comes back through them. With few samples G
    learns next to nothing from probabilities, but does learn from their logarithms.

    ``decoder`` says how G learns, and ``warm_start`` how the training begins. The published recipe is the
    default of both.
    """

    sensitive: Names
    release: Literal["logits", "softmax"] = "logits"
    beta: CompressedBeta = CompressedBeta()
    passes: Literal["one", "two"] = "two"
    logarithm: bool = False
    decoder: DecoderTraining = DecoderTraining()
    warm_start: WarmStart | None = None

    @model_validator(mode="after")
    def _soft(self) -> Self:
        if self.logarithm and self.release != "softmax":
            raise ValueError("logarithms are read of a softmax release: say release: softmax")
        if self.warm_start is not None and self.release != "softmax":
            raise ValueError("a warm start is for soft outputs: say release: softmax, or leave it out")
        return self


@behaviours.register("curious/parameterized")
class Parameterized(Behaviour):
    """G learns to read s from the release while F learns to write it there, beside y."""

    summary: ClassVar[str] = "hides an attribute in its outputs for a decoder that is trained with it"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Eq. 10, Algorithm 1"
    releases: ClassVar[tuple[Release, ...]] = ("logits", "softmax")
    Parameters: ClassVar[type[BehaviourParameters]] = ParameterizedParameters
    several: ClassVar[tuple[Role, ...]] = ("target", "sensitive")

    @classmethod
    def check(cls, parameters: Any, attributes: Mapping[str, Attribute]) -> None:
        """See `Behaviour.check`; a warm start writes one attribute."""
        super().check(parameters, attributes)
        hidden, targets = names(parameters.sensitive), names(parameters.target)
        if parameters.warm_start is not None and max(len(targets), len(hidden)) > 1:
            raise InvalidInput(
                "a warm start takes one target and one sensitive attribute, not "
                f"{', '.join(targets)} and {', '.join(hidden)}"
            )

    def __init__(
        self,
        parameters: Any,
        classifier: Classifier,
        sensitive_classes: int | tuple[int, ...],
        schedule: Schedule,
    ) -> None:
        from leakrange.nets.decoder import AttackNet
        from leakrange.nets.optimisers import optimiser

        super().__init__(parameters, classifier, sensitive_classes, schedule)
        device = next(classifier.parameters()).device
        chosen = parameters.decoder
        self.attack = AttackNet(classifier.classes, self.sensitive_classes, chosen.dropout).to(device)
        attack_schedule = schedule.model_copy(update={"lr": chosen.lr or schedule.lr})
        self.attack_optimiser = optimiser(self.attack.parameters(), attack_schedule)
        self.warm_epochs = parameters.warm_start.epochs if parameters.warm_start else 0
        self.warm_steps = 0
        self.steps = 0

    def modules(self) -> dict[str, nn.Module]:
        """F and G."""
        return {"classifier": self.classifier, "attack": self.attack}

    def optimisers(self) -> tuple[Optimiser, ...]:
        """The optimisers of F and of G."""
        return self.optimiser, self.attack_optimiser

    def study(self, lessons: Lessons) -> None:
        """See `Behaviour.study`; also counts the steps of a warm start."""
        super().study(lessons)
        self.warm_steps = self.warm_epochs * (len(lessons) // self.schedule.batch)

    def outputs_read(self, logits: Tensor) -> Tensor:
        """The input of G, from logits (B, Y): the release, or its logarithm."""
        from leakrange.nets.heads import log_soft, soft
        from leakrange.providers.decoder import SMALLEST

        if self.parameters.release == "logits":
            return logits
        if self.parameters.logarithm:
            return log_soft(logits, self.classifier.heads).clamp_min(math.log(SMALLEST))
        return soft(logits, self.classifier.heads)

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """Make G's steps with L^G, then one of F with L^F (Algorithm 1, lines 6 to 15), or with the loss of
        the warm start."""
        import torch

        assert sensitive is not None
        if self.parameters.passes == "two":
            self.classifier.eval()
            with torch.no_grad():
                lesson = self.outputs_read(self.forward(samples))
            self._teach(lesson, sensitive)
            self.classifier.train()
            logits = self.forward(samples)
        else:
            self.classifier.train()
            logits = self.forward(samples)
            self._teach(self.outputs_read(logits.detach()), sensitive)
        loss = self._loss(logits, target, sensitive)
        self.steps += 1
        return self.descend(loss)

    def _loss(self, logits: Tensor, target: Tensor, sensitive: Tensor) -> Tensor:
        """The loss of F."""
        from leakrange.providers.losses import entropy_levels_loss, parameterized_loss, regularized_loss

        beta = self.parameters.beta
        if self.steps < self.warm_steps:
            soft = logits.softmax(dim=1)
            if self.sensitive_classes == 2:
                return regularized_loss(soft, target, sensitive, beta_y=beta.y, beta_s=beta.s)
            return entropy_levels_loss(
                soft, target, sensitive, classes=self.sensitive_classes, beta_y=beta.y, beta_s=beta.s
            )
        self.attack.eval()
        return parameterized_loss(
            logits,
            target,
            self.attack(self.outputs_read(logits)),
            sensitive,
            kind=self.parameters.release,
            beta_x=beta.x,
            beta_y=beta.y,
            beta_s=beta.s,
            heads=self.classifier.heads,
            hidden=self.hidden,
        )

    def _teach(self, lesson: Tensor, sensitive: Tensor) -> None:
        """Make G's steps, with L^G = H(s|ŷ)."""
        from torch.nn.functional import cross_entropy

        from leakrange.nets.heads import mean_loss

        self.attack.train()
        for _ in range(self.parameters.decoder.steps):
            loss = mean_loss(cross_entropy, self.attack(lesson), sensitive, self.hidden)
            self.attack_optimiser.descend(loss)

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """The score is β^y·honesty + β^s·curiosity, where curiosity is the accuracy of G."""
        import torch

        from leakrange.nets.heads import answers

        sensitive = validation.sensitive
        assert sensitive is not None
        self.attack.eval()
        with torch.inference_mode():
            inferred = answers(self.attack(self.outputs_read(logits)), self.hidden)
        honesty = share_equal(answers(logits, self.classifier.heads), validation.target)
        curiosity = share_equal(inferred, sensitive)
        return self.weighed(honesty, curiosity)

    def decoder(self) -> NetDecoder:
        """A copy of G."""
        from leakrange.providers.decoders.net import NetDecoder

        net = copy.deepcopy(self.attack).cpu().eval()
        heads = {"heads": self.classifier.heads, "hidden": self.hidden}
        return NetDecoder(net, self.parameters.release, logarithm=self.parameters.logarithm, **heads)
