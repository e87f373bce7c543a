"""Translators that are trained against adversaries: the code that all of them share.

A rival is a subclass of `Translation` with its ``loss``. The protector's observers are adversaries for the
private attributes and classifiers for the useful ones. On each batch they learn on x' as it is; then the
translator goes down its loss, which they judge. Each observer is one net with a head for each attribute. It
is our choice to take one step of each, in turn, on every batch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from leakrange.data.samples import Names
from leakrange.defences.input.trained import (
    ObfuscatorParameters,
    ObfuscatorTraining,
    Outcome,
    Task,
    TrainedInputDefence,
)
from leakrange.defences.trained import DefenceConfig
from leakrange.wire.samples import SampleSpec, encodings

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.defences.translation import Autoencoder, Translator
    from leakrange.nets.classifier import Classifier
    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.loop import Lessons

__all__ = ["Guess", "Keeping", "Observation", "Translation", "TranslatorTraining"]

BATCH = 256
"""Number of samples that are translated together."""
EMBEDDING = 64


class Keeping(ObfuscatorParameters):
    """Parameters of a rival that cannot do without useful attributes: nothing else would keep its samples of
    any use."""

    useful: Names


T = TypeVar("T", bound=ObfuscatorParameters)


Guess = tuple["Tensor", "Tensor", "Tensor"]
"""Guess of one attribute: logits (B, C), labels (B,), and the shares (C,) of the classes in training."""


@dataclass(frozen=True)
class Observation:
    """A batch as the protector's observers see it.

    inputs, shown: x and x', as nets take them. adversaries: the guesses of each adversary about each private
    attribute. kept: the guesses about the useful ones. embedding: the net that compares samples, for rivals
    that have one.
    """

    inputs: Tensor
    shown: Tensor
    adversaries: Sequence[Sequence[Guess]]
    kept: Sequence[Guess]
    embedding: Classifier | None

    def nothing(self) -> Tensor:
        """The tensor 0, to begin sums with."""
        return self.shown.new_zeros(())

    def guesses(self) -> Sequence[Guess]:
        """The guesses of the only adversary."""
        return self.adversaries[0]

    def mistaken(self, adversary: int = 0) -> Tensor:
        """Σ H(s|x'): the sum of an adversary's cross-entropies."""
        return self._cross_entropy(self.adversaries[adversary])

    def useless(self) -> Tensor:
        """Σ H(u|x'): the sum of the useful classifier's cross-entropies; 0 where nothing is useful."""
        return self._cross_entropy(self.kept)

    def distortion(self) -> Tensor:
        """The mean squared difference of x and x', in squared units of what a net is given."""
        return (self.shown - self.inputs).square().mean()

    def _cross_entropy(self, guesses: Sequence[Guess]) -> Tensor:
        from torch.nn.functional import cross_entropy

        return sum((cross_entropy(logits, labels) for logits, labels, _ in guesses), self.nothing())


class Translation(TrainedInputDefence[T]):
    """x' = T(x), by a `leakrange.defences.translation.Translator`. With ``noisy``, T is given noise
    beside the sample."""

    adversaries: int = 1
    """Number of adversaries at once."""
    compares: ClassVar[Literal["translator", "observers"] | None] = None
    """Side that a net comparing samples learns with, for rivals that need one."""

    @classmethod
    @override
    def build(cls, parameters: Any, config: DefenceConfig) -> Translator | Autoencoder:
        """See `TrainedInputDefence.build`."""
        from leakrange.defences.translation import Translator

        return Translator(config.input, config.net.width, cls.noisy)

    @override
    def study(self, task: Task) -> ObfuscatorTraining:
        """See `TrainedInputDefence.study`."""
        return TranslatorTraining(self, task)

    @abstractmethod
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """The terms whose sum the translator goes down, each with its weight."""

    def challenge(self, batch: Observation) -> Tensor:
        """The loss that the observers go down."""
        return sum((batch.mistaken(each) for each in range(self.adversaries)), batch.useless())

    def restarted(self, epoch: int) -> int | None:  # noqa: ARG002
        """Index of the adversary that starts anew after that epoch, if any."""
        return None

    def noise(self, count: int, spec: SampleSpec, draw: np.random.Generator) -> NDArray[np.float32] | None:
        """Noise for so many samples, in the form that the module takes."""

        if not self.noisy:
            return None
        drawn = draw.standard_normal((count, *spec.shape), dtype=np.float32)
        return drawn.transpose(encodings[spec.encoding].layout)

    @override
    def obfuscate(
        self, module: Any, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator
    ) -> NDArray[Any]:
        """Translate each sample to one of the same kind."""
        import torch

        from leakrange.nets.classifier import to_input

        translated = np.empty_like(samples)
        axes = tuple(np.argsort(encodings[spec.encoding].layout))
        with torch.inference_mode():
            for start in range(0, len(samples), BATCH):
                part = np.array(samples[start : start + BATCH])
                noise = self.noise(len(part), spec, draw)
                noise_inputs = () if noise is None else (torch.from_numpy(noise),)
                shown = module(to_input(torch.from_numpy(part), spec), *noise_inputs).numpy().transpose(axes)
                values = (shown - np.asarray(spec.offset)) * np.asarray(spec.scale)
                translated[start : start + BATCH] = spec.nearest(values)
        return translated


class TranslatorTraining(ObfuscatorTraining):
    """The training of all translators, see the module's docstring; ``link`` gives the losses to go down."""

    module: Translator | Autoencoder

    def __init__(self, link: Translation[Any], task: Task) -> None:
        from leakrange.nets.classifier import to_input

        super().__init__(task)
        self.link = link
        lessons = task.lessons
        assert lessons.sensitive is not None
        self.device = lessons.inputs.device
        self.module = link.build(link.parameters, task.config).to(self.device)
        self.module.range.fit(to_input(lessons.inputs, task.config.input))
        self.adversaries = [self._net(sum(task.private.values())) for _ in range(link.adversaries)]
        self.keeper = self._net(sum(task.useful.values())) if task.useful else None
        self.embedding = self._net(EMBEDDING) if link.compares else None
        self.hidden = _priors(lessons.sensitive, task.private)
        self.kept = _priors(lessons.target, task.useful)
        learners: list[nn.Module | None] = [self.module]
        others: list[nn.Module | None] = [self.keeper]
        (learners if link.compares == "translator" else others).append(self.embedding)
        self.optimiser = self._optimiser(*learners)
        self.adversary_optimisers = [self._optimiser(each) for each in self.adversaries]
        self.observer_optimiser = self._optimiser(*others)
        self._draw = np.random.default_rng(task.seed)
        self._epochs = 0

    def _net(self, outputs: int) -> Classifier:
        from leakrange.nets import nets

        net = self.task.config.net
        return nets[net.name].build(self.task.config.input, outputs, net.width).to(self.device)

    def _optimiser(self, *learners: nn.Module | None) -> Optimiser:
        from leakrange.nets.optimisers import optimiser

        moved = [each for learner in learners if learner is not None for each in learner.parameters()]
        return optimiser(moved, self.task.schedule)

    @override
    def optimisers(self) -> Sequence[Optimiser]:
        """The translator's, each adversary's, and that of the other observers."""
        return (self.optimiser, *self.adversary_optimisers, self.observer_optimiser)

    def judges(self) -> list[Classifier]:
        """The classifiers that judge a translator. They do so in eval mode: in train mode it would learn to
        play with the statistics of a batch, which say nothing of single samples."""
        return [*self.adversaries, *([] if self.keeper is None else [self.keeper])]

    def _observed(self, inputs: Tensor, shown: Tensor, target: Tensor, sensitive: Tensor) -> Observation:
        return Observation(
            inputs=inputs,
            shown=shown,
            adversaries=[_guesses(each(shown), sensitive, self.hidden) for each in self.adversaries],
            kept=[] if self.keeper is None else _guesses(self.keeper(shown), target, self.kept),
            embedding=self.embedding,
        )

    @override
    def step(self, inputs: Tensor, target: Tensor, sensitive: Tensor | None, /) -> Tensor:
        """See `ObfuscatorTraining.step`."""
        import torch

        assert sensitive is not None
        for judge in self.judges():
            judge.train()
        noise = self.link.noise(len(inputs), self.config.input, self._draw)
        noise_inputs = () if noise is None else (torch.from_numpy(noise).to(self.device),)
        shown = self.module(inputs, *noise_inputs)
        observers = (*self.adversary_optimisers, self.observer_optimiser)
        for each in observers:
            each.zero_grad()
        self.link.challenge(self._observed(inputs, shown.detach(), target, sensitive)).backward()  # type: ignore[no-untyped-call]
        for each in observers:
            each.step()
        for judge in self.judges():
            judge.eval()
        terms = self.link.loss(self._observed(inputs, shown, target, sensitive))
        self.count(terms)
        return self.optimiser.descend(torch.stack(list(terms.values())).sum())

    @override
    def entry(self, loss: float) -> dict[str, float]:
        """The mean of each term of the loss, in nats or squared units."""
        means = super().entry(loss)
        self._epochs += 1
        if (index := self.link.restarted(self._epochs)) is not None:
            self.adversaries[index] = self._net(sum(self.task.private.values()))
            self.adversary_optimisers[index] = self._optimiser(self.adversaries[index])
        return means

    @override
    def outcome(self, parts: Mapping[str, Lessons]) -> Outcome:
        """Figures by split, of x' as it leaves a device: ``distortion`` (`Observation.distortion`); for each
        private attribute the accuracy of the protector's own ``adversary``, for each useful one the
        ``accuracy`` of its classifier, and for each the share of the ``majority``.

        Of several adversaries it is the one that does best on the training samples.
        """
        import torch

        from leakrange.nets.classifier import to_input

        spec = self.config.input
        draw = np.random.default_rng(self.task.seed)
        for judge in self.judges():
            judge.cpu()
        figures, best = {}, 0
        for split, part in parts.items():
            assert part.sensitive is not None
            shown = torch.from_numpy(self.link.obfuscate(self.module, part.inputs.numpy(), spec, draw))
            distortion = (to_input(shown, spec) - to_input(part.inputs, spec)).square().mean()
            result = {"samples": float(len(part)), "distortion": float(distortion)}
            guessed = [_judged(each, shown, part.sensitive, self.task.private) for each in self.adversaries]
            if split == "train":
                best = int(np.argmax([sum(each.values()) for each in guessed]))
            result |= _named("adversary", guessed[best]) | _majorities(part.sensitive, self.task.private)
            if self.keeper is not None:
                kept = _judged(self.keeper, shown, part.target, self.task.useful)
                result |= _named("accuracy", kept) | _majorities(part.target, self.task.useful)
            figures[split] = result
        return Outcome(figures)


def _priors(labels: Tensor, classes: Mapping[str, int]) -> list[Tensor]:
    """The shares of each attribute's classes in labels (N, A)."""
    return [
        column.bincount(minlength=count) / len(labels)
        for column, count in zip(labels.T, classes.values(), strict=True)
    ]


def _guesses(logits: Tensor, labels: Tensor, priors: Sequence[Tensor]) -> list[Guess]:
    import torch

    heads = torch.split(logits, [len(prior) for prior in priors], dim=1)
    return list(zip(heads, labels.unbind(dim=1), priors, strict=True))


def _judged(
    classifier: Classifier, samples: Tensor, labels: Tensor, classes: Mapping[str, int]
) -> dict[str, float]:
    """The accuracy of each head."""
    import torch

    from leakrange.providers.inference import logits_of

    heads = torch.split(logits_of(classifier, samples), list(classes.values()), dim=1)
    right = (
        float((head.argmax(1) == truth).float().mean()) for head, truth in zip(heads, labels.T, strict=True)
    )
    return dict(zip(classes, right, strict=True))


def _majorities(labels: Tensor, classes: Mapping[str, int]) -> dict[str, float]:
    from leakrange.metrics.accuracy import majority_share

    columns = zip(classes.items(), labels.T, strict=True)
    return {f"majority {name}": majority_share(column.numpy(), count) for (name, count), column in columns}


def _named(prefix: str, figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix} {name}": figure for name, figure in figures.items()}
