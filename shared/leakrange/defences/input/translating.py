"""Translators that are trained against adversaries: what all of them share.

A rival is a subclass of `Translation` with its ``loss``. On each batch the protector's observers, who are
adversaries for the private attributes and classifiers for the useful ones, learn on x' as it is; then the
translator goes down its loss, which they judge. Each observer is one net with a head for each attribute.
One step of each, in turn, on every batch is ours.
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
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.defences.translation.net import Autoencoder, Translator
    from leakrange.nets.classifier import Classifier
    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.loop import Lessons

__all__ = ["Guess", "Keeping", "Seen", "Translation", "TranslatorTraining"]

BATCH = 256
"""Samples that are translated together."""
EMBEDDING = 64


class Keeping(ObfuscatorParameters):
    """Of a rival that cannot do without useful attributes: nothing else would keep its samples of any use."""

    useful: Names


T = TypeVar("T", bound=ObfuscatorParameters)


Guess = tuple["Tensor", "Tensor", "Tensor"]
"""Of one attribute: logits (B, C), labels (B,), and the shares (C,) of the classes in training."""


@dataclass(frozen=True)
class Seen:
    """A batch and what the protector's observers make of it.

    inputs, shown: x and x', as nets take them. adversaries: what each of them says of each private attribute.
    kept: what is said of the useful ones. embedding: the net that compares samples, of rivals that have one.
    """

    inputs: Tensor
    shown: Tensor
    adversaries: Sequence[Sequence[Guess]]
    kept: Sequence[Guess]
    embedding: Classifier | None

    def nothing(self) -> Tensor:
        """0, to begin sums with."""
        return self.shown.new_zeros(())

    def guesses(self) -> Sequence[Guess]:
        """What the only adversary says."""
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
    """x' = T(x), by a `leakrange.defences.translation.net.Translator`. Of a ``noisy`` one, T is given noise
    beside the sample."""

    adversaries: int = 1
    """How many there are at once."""
    compares: ClassVar[Literal["translator", "observers"] | None] = None
    """With whom a net learns that compares samples, for rivals that need one."""

    @classmethod
    @override
    def build(cls, parameters: Any, config: DefenceConfig) -> Translator | Autoencoder:
        """See `TrainedInputDefence.build`."""
        from leakrange.defences.translation.net import Translator

        return Translator(config.input, config.net.width, cls.noisy)

    @override
    def study(self, task: Task) -> ObfuscatorTraining:
        """See `TrainedInputDefence.study`."""
        return TranslatorTraining(self, task)

    @abstractmethod
    def loss(self, seen: Seen) -> dict[str, Tensor]:
        """The terms whose sum the translator goes down, each with its weight."""

    def challenge(self, seen: Seen) -> Tensor:
        """What the observers go down."""
        return sum((seen.mistaken(each) for each in range(self.adversaries)), seen.useless())

    def restarted(self, epoch: int) -> int | None:  # noqa: ARG002
        """Which adversary begins anew after that epoch, if any."""
        return None

    def noise(self, count: int, spec: SampleSpec, draw: np.random.Generator) -> NDArray[np.float32] | None:
        """What is drawn for so many samples, as the module takes it."""
        from leakrange.nets.classifier import LAYOUTS

        if not self.noisy:
            return None
        drawn = draw.standard_normal((count, *spec.shape), dtype=np.float32)
        return drawn.transpose(LAYOUTS[spec.encoding])

    @override
    def obfuscate(
        self, module: Any, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator
    ) -> NDArray[Any]:
        """T of each sample, as a sample of the same kind."""
        import torch

        from leakrange.nets.classifier import LAYOUTS, to_input

        found = np.empty_like(samples)
        back = tuple(np.argsort(LAYOUTS[spec.encoding]))
        with torch.inference_mode():
            for start in range(0, len(samples), BATCH):
                part = np.array(samples[start : start + BATCH])
                noise = self.noise(len(part), spec, draw)
                given = () if noise is None else (torch.from_numpy(noise),)
                shown = module(to_input(torch.from_numpy(part), spec), *given).numpy().transpose(back)
                values = (shown - np.asarray(spec.offset)) * np.asarray(spec.scale)
                found[start : start + BATCH] = spec.nearest(values)
        return found


class TranslatorTraining(ObfuscatorTraining):
    """The loop of all translators, see the module's docstring; ``link`` says what is gone down."""

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
        own: list[nn.Module | None] = [self.module]
        others: list[nn.Module | None] = [self.keeper]
        (own if link.compares == "translator" else others).append(self.embedding)
        self.ours = self._optimiser(*own)
        self.theirs = [self._optimiser(each) for each in self.adversaries]
        self.rest = self._optimiser(*others)
        self._draw = np.random.default_rng(task.seed)
        self._sums: dict[str, Tensor] = {}
        self._steps = self._epochs = 0

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
        return (self.ours, *self.theirs, self.rest)

    def judges(self) -> list[Classifier]:
        """The classifiers that judge a translator. They do so in eval mode: else it learns to play with the
        statistics of a batch, which tell nothing of single samples."""
        return [*self.adversaries, *([] if self.keeper is None else [self.keeper])]

    def _seen(self, inputs: Tensor, shown: Tensor, target: Tensor, sensitive: Tensor) -> Seen:
        return Seen(
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
        given = () if noise is None else (torch.from_numpy(noise).to(self.device),)
        shown = self.module(inputs, *given)
        observers = (*self.theirs, self.rest)
        for one in observers:
            one.zero_grad()
        self.link.challenge(self._seen(inputs, shown.detach(), target, sensitive)).backward()  # type: ignore[no-untyped-call]
        for one in observers:
            one.step()
        for judge in self.judges():
            judge.eval()
        terms = self.link.loss(self._seen(inputs, shown, target, sensitive))
        for name, term in terms.items():
            self._sums[name] = self._sums.get(name, 0.0) + term.detach()
        self._steps += 1
        return self.ours.descend(torch.stack(list(terms.values())).sum())

    @override
    def entry(self, loss: float) -> dict[str, float]:
        """The mean of each term of the loss, in nats or squared units."""
        found = {name: float(total) / self._steps for name, total in self._sums.items()}
        self._sums, self._steps = {}, 0
        self._epochs += 1
        if (again := self.link.restarted(self._epochs)) is not None:
            self.adversaries[again] = self._net(sum(self.task.private.values()))
            self.theirs[again] = self._optimiser(self.adversaries[again])
        return found

    @override
    def outcome(self, parts: Mapping[str, Lessons]) -> Outcome:
        """Figures by split, of x' as it leaves a device: ``distortion`` (`Seen.distortion`); of each private
        attribute the accuracy of the protector's own ``adversary``, of each useful one the ``accuracy`` of
        its classifier, and beside each the share of the ``majority``.

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
            moved = (to_input(shown, spec) - to_input(part.inputs, spec)).square().mean()
            found = {"samples": float(len(part)), "distortion": float(moved)}
            guessed = [_judged(each, shown, part.sensitive, self.task.private) for each in self.adversaries]
            if split == "train":
                best = int(np.argmax([sum(each.values()) for each in guessed]))
            found |= _named("adversary", guessed[best]) | _majorities(part.sensitive, self.task.private)
            if self.keeper is not None:
                kept = _judged(self.keeper, shown, part.target, self.task.useful)
                found |= _named("accuracy", kept) | _majorities(part.target, self.task.useful)
            figures[split] = found
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


def _named(what: str, figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{what} {name}": figure for name, figure in figures.items()}
