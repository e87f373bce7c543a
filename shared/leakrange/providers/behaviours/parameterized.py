"""The parameterized curious classifier: F and its attack G are trained together (HBC Section 4.3, Algorithm
1)."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import model_validator

from leakrange.data.samples import Names
from leakrange.providers.behaviour import (
    Behaviour,
    Beta,
    Judgement,
    Parameters,
    Release,
    Role,
    Weight,
    share_equal,
)
from leakrange.providers.behaviours import behaviours

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.jobs.recipe import Schedule
    from leakrange.nets.classifier import Classifier
    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.decoders.net import NetDecoder
    from leakrange.providers.loop import Lessons

__all__ = ["Parameterized"]


class CompressedBeta(Beta):
    """Weights of Eq. 10: also of the outputs' entropy (x)."""

    x: Weight = 0.0


class ParameterizedParameters(Parameters):
    """Attributes, weights, which release G reads, and how many passes through F a step makes.

    ``passes``: "one" is Algorithm 1, where G learns from the outputs that F gives in training mode; "two"
    is what the paper's authors ran: F gives G's lesson in eval mode (running statistics, no dropout), then
    its own in training mode.

    ``logarithm``: G reads the logarithms of soft outputs. They are the same release, but where F is sure of y
    its probabilities stand at 0 and 1, and hardly a gradient comes back through them: with few samples G
    learns next to nothing from those, as it does from their logarithms.
    """

    sensitive: Names
    release: Literal["logits", "softmax"] = "logits"
    beta: CompressedBeta = CompressedBeta()
    passes: Literal["one", "two"] = "two"
    logarithm: bool = False

    @model_validator(mode="after")
    def _soft(self) -> Self:
        if self.logarithm and self.release != "softmax":
            raise ValueError("logarithms are read of a softmax release: say release: softmax")
        return self


@behaviours.register("curious/parameterized")
class Parameterized(Behaviour):
    """G learns to read s from the release while F learns to write it there, beside y."""

    summary: ClassVar[str] = "hides an attribute in its outputs for a decoder that is trained with it"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Eq. 10, Algorithm 1"
    releases: ClassVar[tuple[Release, ...]] = ("logits", "softmax")
    Parameters: ClassVar[type[Parameters]] = ParameterizedParameters
    several: ClassVar[tuple[Role, ...]] = ("target", "sensitive")

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
        self.attack = AttackNet(classifier.classes, self.sensitive_classes).to(device)
        self.attack_optimiser = optimiser(self.attack.parameters(), schedule)

    def modules(self) -> dict[str, nn.Module]:
        """F and G."""
        return {"classifier": self.classifier, "attack": self.attack}

    def optimisers(self) -> tuple[Optimiser, ...]:
        """F's and G's."""
        return self.optimiser, self.attack_optimiser

    def _released(self, logits: Tensor) -> Tensor:
        """What G sees of them."""
        from leakrange.nets.heads import log_soft, soft
        from leakrange.providers.decoder import SMALLEST

        if self.parameters.release == "logits":
            return logits
        if self.parameters.logarithm:
            return log_soft(logits, self.classifier.heads).clamp_min(math.log(SMALLEST))
        return soft(logits, self.classifier.heads)

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """One step of G with L^G, then one of F with L^F (Algorithm 1, lines 6 to 15)."""
        import torch

        from leakrange.providers.losses import parameterized_loss

        assert sensitive is not None
        if self.parameters.passes == "two":
            self.classifier.eval()
            with torch.no_grad():
                lesson = self._released(self.forward(samples))
            self._teach(lesson, sensitive)
            self.classifier.train()
            logits = self.forward(samples)
        else:
            self.classifier.train()
            logits = self.forward(samples)
            self._teach(self._released(logits.detach()), sensitive)
        self.attack.eval()
        beta = self.parameters.beta
        loss = parameterized_loss(
            logits,
            target,
            self.attack(self._released(logits)),
            sensitive,
            kind=self.parameters.release,
            beta_x=beta.x,
            beta_y=beta.y,
            beta_s=beta.s,
            heads=self.classifier.heads,
            hidden=self.hidden,
        )
        return self.descend(loss)

    def _teach(self, lesson: Tensor, sensitive: Tensor) -> None:
        """One step of G, with L^G = H(s|ŷ)."""
        from torch.nn.functional import cross_entropy

        from leakrange.nets.heads import mean_loss

        self.attack.train()
        self.attack_optimiser.descend(mean_loss(cross_entropy, self.attack(lesson), sensitive, self.hidden))

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """β^y·honesty + β^s·curiosity, where curiosity is the accuracy of G."""
        import torch

        from leakrange.nets.heads import answers

        sensitive = validation.sensitive
        assert sensitive is not None
        self.attack.eval()
        with torch.inference_mode():
            inferred = answers(self.attack(self._released(logits)), self.hidden)
        honesty = share_equal(answers(logits, self.classifier.heads), validation.target)
        curiosity = share_equal(inferred, sensitive)
        return self.weighed(honesty, curiosity)

    def decoder(self) -> NetDecoder:
        """A copy of G."""
        from leakrange.providers.decoders.net import NetDecoder

        net = copy.deepcopy(self.attack).cpu().eval()
        heads = {"heads": self.classifier.heads, "hidden": self.hidden}
        return NetDecoder(net, self.parameters.release, logarithm=self.parameters.logarithm, **heads)
