"""The form of every behaviour. The class has its facts and parameters, for lists and validation; an instance
is one training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from leakrange.data.samples import Attribute, Names, names
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.jobs.recipe import Schedule
    from leakrange.nets.classifier import Classifier
    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.decoder import Decoder
    from leakrange.providers.loop import Lessons, Trainer
    from leakrange.providers.model_config import PrivacyLedger

__all__ = ["Behaviour", "BehaviourParameters", "Beta", "CuriousParameters", "Judgement", "Release"]

Release = Literal["logits", "softmax", "features"]
RELEASES: tuple[Release, ...] = ("logits", "softmax", "features")
"""The releases of every classifier, whatever its behaviour."""

Role = Literal["target", "sensitive"]
Weight = Annotated[float, Field(ge=0.0, le=100.0)]


class Beta(Strict):
    """Weights of honesty (y) and curiosity (s), HBC Eq. 3; the paper's add up to 1."""

    y: Weight = 0.7
    s: Weight = 0.3


class BehaviourParameters(Strict):
    """The parameters of every behaviour: the attribute that the model answers for."""

    target: Names


class CuriousParameters(BehaviourParameters):
    """Target and sensitive attribute, and the weights β^y, β^s."""

    sensitive: str
    beta: Beta = Beta()


@dataclass(frozen=True)
class Judgement:
    """The quality of one epoch's model on the validation samples, as shares in [0, 1]; the epoch with the
    highest ``score`` is kept."""

    honesty: float
    curiosity: float | None
    score: float
    figures: Mapping[str, float] = field(default_factory=dict)
    """Further figures for the epoch's entry in the history."""


class Behaviour(ABC):
    """One way to train a classifier F and, where it has one, the decoder that reads s from F's outputs.

    The class is what the registry lists; an instance is one training: the loop calls `step` on batches,
    `judge` after each epoch, and `decoder` for the epoch that it keeps.
    """

    version: ClassVar[int] = 1
    """Raised when the behaviour trains other models than before: see `leakrange.jobs.versions`."""
    summary: ClassVar[str]
    paper: ClassVar[str]
    equation: ClassVar[str]
    releases: ClassVar[tuple[Release, ...]]
    """The kinds of release that a model can be trained for; the first is the default."""
    Parameters: ClassVar[type[BehaviourParameters]]
    several: ClassVar[tuple[Role, ...]] = ()
    """The roles that may have several attributes."""
    binary: ClassVar[tuple[Role, ...]] = ()
    """The roles whose attribute must have two classes."""
    warm_epochs: int = 0
    """The number of epochs at the beginning that use another loss."""
    ledger: PrivacyLedger | None = None
    """The promise of its training; None for a training that promises nothing."""
    reconstructs: ClassVar[bool] = False
    """Whether its decoder reads whole samples, in place of an attribute."""
    samples_apart: ClassVar[bool] = False
    """Whether it learns from the gradient of each sample by itself: of a net that takes samples apart, and of
    batches that each take every sample with the same probability."""
    stacks: ClassVar[bool] = False
    """Whether a step is one down the gradient of `loss`, so that many models can be trained as one: see
    `leakrange.providers.stacked`."""
    trains: ClassVar[bool] = True
    """Whether its model is trained in the range; else it stands with somebody else, and only answers."""
    shadowed: ClassVar[bool] = False
    """Whether attackers train shadows of it in the same way, and not as an honest classifier of the task."""

    def __init__(
        self,
        parameters: Any,
        classifier: Classifier,
        sensitive_classes: int | tuple[int, ...],
        schedule: Schedule,
    ) -> None:
        from leakrange.nets.optimisers import optimiser
        from leakrange.providers.target_task import TargetTask

        self.parameters = parameters
        self.classifier = classifier
        self.task = TargetTask(classifier.heads, sigmoid=getattr(parameters, "sigmoid", False))
        self.hidden = (sensitive_classes,) if isinstance(sensitive_classes, int) else sensitive_classes
        self.sensitive_classes = sum(self.hidden)
        self.schedule = schedule
        self.optimiser = optimiser(classifier.parameters(), schedule)

    @classmethod
    def release(cls, parameters: Any) -> Release:
        """The default release of the model: what its users are to send."""
        chosen: Release = getattr(parameters, "release", cls.releases[0])
        return chosen

    @classmethod
    def decisive(cls, parameters: Any) -> dict[str, Any]:
        """The parameters that decide what the model answers, as its recipe keeps them."""
        dumped: dict[str, Any] = parameters.model_dump(mode="json")
        return dumped

    @classmethod
    def misfit(cls, parameters: Any, sample: SampleSpec) -> str | None:  # noqa: ARG003
        """The reason why its model cannot take samples of a data set, whatever the net; None if it can."""
        return None

    @classmethod
    def sensitive(cls, parameters: Any) -> str | tuple[str, ...] | None:
        """The attribute, or the attributes, that the outputs encode, if any."""
        return getattr(parameters, "sensitive", None)

    @classmethod
    def check(cls, parameters: Any, attributes: Mapping[str, Attribute]) -> None:
        """Raise `InvalidInput`, naming what there is, for parameters that this data set does not support."""
        for role in ("target", "sensitive"):
            named = names(getattr(parameters, role, None))
            for name in named:
                if name not in attributes:
                    raise InvalidInput(
                        f"no attribute {name!r} for {role}; there are: {', '.join(sorted(attributes))}"
                    )
            if len(named) > 1 and role not in cls.several:
                raise InvalidInput(f"this behaviour takes one attribute for {role}, not {len(named)}")
            two = role in cls.binary or (role == "target" and getattr(parameters, "sigmoid", False))
            for name in named:
                if two and (classes := len(attributes[name].classes)) != 2:
                    raise InvalidInput(
                        f"this behaviour takes as {role} a binary attribute; {name!r} has {classes} classes",
                        hint="use behaviour 'curious/parameterized', or an attribute of two classes",
                    )

    @classmethod
    def build(
        cls,
        parameters: Any,
        net: Callable[[int], Classifier],
        classes: int,
        sensitive_classes: int,  # noqa: ARG003
    ) -> Classifier:
        """The fresh classifier that an instance trains and that is served: ``net(classes)``; with one logit
        for each binary target where the parameters say ``sigmoid``.

        ``net`` builds the recipe's architecture for the data's samples and a number of classes. May raise
        `ValueError` where that architecture does not fit.
        """
        if not getattr(parameters, "sigmoid", False):
            return net(classes)
        from leakrange.nets.last_layers import with_one_logit

        return with_one_logit(net(classes // 2))

    def study(self, lessons: Lessons) -> None:
        """Read all training samples once, before the first step; by default, to weigh the classes of binary
        targets."""
        self.task.study(lessons)

    def trainer(self, lessons: Lessons, spec: SampleSpec, seed: int) -> Trainer:
        """The trainer that gives it batches of ``lessons``, which are samples of ``spec``."""
        from leakrange.providers.loop import Trainer

        return Trainer.of(self, lessons, spec, self.schedule, seed, poisson=self.samples_apart)

    def modules(self) -> dict[str, nn.Module]:
        """Every module whose parameters the training moves."""
        return {"classifier": self.classifier}

    def optimisers(self) -> Sequence[Optimiser]:
        """All optimisers of the training."""
        return (self.optimiser,)

    def forward(self, samples: Tensor) -> Tensor:
        """Logits (B, Y) in float32 of scaled samples, computed in bf16 where the schedule says so."""
        import torch

        if not self.schedule.bf16:
            logits: Tensor = self.classifier(samples)
            return logits
        with torch.autocast(samples.device.type, dtype=torch.bfloat16):
            logits = self.classifier(samples)
        return logits.float()

    def descend(self, loss: Tensor) -> Tensor:
        """One step of the classifier; gives the loss, detached."""
        return self.optimiser.descend(loss)

    @abstractmethod
    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """Learn from one batch: scaled samples as the net takes them, labels (B,). Sets train and eval mode
        itself. Gives the loss."""

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss of logits (B, Y) and labels (B,), or (B, A), of a behaviour that ``stacks``."""
        raise NotImplementedError

    @abstractmethod
    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """Honesty, curiosity and selection score from the validation samples, and their logits (V, Y) in eval
        mode."""

    def weighed(self, honesty: float, curiosity: float) -> Judgement:
        """The judgement whose score is β^y·honesty + β^s·curiosity."""
        beta = self.parameters.beta
        return Judgement(honesty, curiosity, beta.y * honesty + beta.s * curiosity)

    def decoder(self) -> Decoder | None:
        """A copy of the current decoder, which reads s from releases; None for a provider that has none."""
        return None


def share_equal(predicted: Tensor, labels: Tensor) -> float:
    """Share of equal entries of two tensors (B,), or (B, A) of several attributes."""
    return float((predicted == labels).double().mean())
