"""The loop of every training, in parts that can be called apart: a step, an epoch, the epoch that is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, Literal, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from leakrange.jobs.recipe import Schedule
from leakrange.nets.classifier import to_input
from leakrange.nets.optimisers import optimiser
from leakrange.nets.reconstructor import from_pixels, to_pixels
from leakrange.providers.augmentation import augmented
from leakrange.providers.variation import varied
from leakrange.wire.samples import SampleSpec

__all__ = [
    "Fitted",
    "Lessons",
    "Progress",
    "Selection",
    "Trainee",
    "Trainer",
    "device_name",
    "scaled",
    "seeded",
    "through_epochs",
]

T = TypeVar("T")
Prepare = Callable[[Tensor], Tensor]
Progress = Callable[[dict[str, float]], None]
REPORT_SECONDS = 2.0


@dataclass(frozen=True)
class Lessons:
    """Samples with their labels, on the device; entry i of each tensor belongs to sample i.

    ``inputs`` (N, ...) are samples as they are stored; ``target`` labels (N,) or soft outputs (N, Y);
    ``sensitive`` labels (N,).
    """

    inputs: Tensor
    target: Tensor
    sensitive: Tensor | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def with_copies(self, generator: torch.Generator) -> Lessons:
        """These pictures and, behind them, an augmented copy of each, with the same labels."""
        copies = from_pixels(augmented(to_pixels(self.inputs), generator)).round_().to(self.inputs.dtype)
        sensitive = None if self.sensitive is None else torch.cat([self.sensitive, self.sensitive])
        return Lessons(torch.cat([self.inputs, copies]), torch.cat([self.target, self.target]), sensitive)

    def augmented(self, how: Literal["varied"] | bool, generator: torch.Generator) -> Lessons:
        """These pictures as a schedule's ``augment`` has them learned."""
        if how == "varied":
            return replace(self, inputs=varied(self.inputs, generator))
        return self.with_copies(generator) if how else self

    def __getitem__(self, chosen: Tensor) -> Lessons:
        """Those at the places ``chosen`` (B,), in that order."""
        sensitive = None if self.sensitive is None else self.sensitive[chosen]
        return Lessons(self.inputs[chosen], self.target[chosen], sensitive)


class Trainee(Protocol):
    """What learns."""

    def step(self, inputs: Tensor, target: Tensor, sensitive: Tensor | None, /) -> Tensor:
        """Learn from one batch, whose inputs are as the net takes them; gives the loss, detached."""
        ...


class Fitted:
    """A ``net`` that learns by one ``loss`` of its outputs and the target."""

    def __init__(self, net: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], schedule: Schedule) -> None:
        self.net = net
        self.loss = loss
        self.optimiser = optimiser(net.parameters(), schedule)

    def step(self, inputs: Tensor, target: Tensor, _: Tensor | None = None, /) -> Tensor:
        """See `Trainee.step`."""
        self.net.train()
        return self.optimiser.descend(self.loss(self.net(inputs), target))


class Trainer:
    """Takes a ``trainee`` through its ``lessons`` in batches of ``batch``.

    ``prepare`` makes a net's input of a batch of samples. An epoch goes through the lessons in an order that
    ``generator`` draws (None: torch's own, on the CPU); what is left after the last whole batch is a batch of
    its own where ``remainder`` says so, and sits the epoch out where not. ``augment`` is that of a schedule;
    ``generator`` draws what is changed as well.
    """

    def __init__(
        self,
        trainee: Trainee,
        lessons: Lessons,
        *,
        batch: int,
        prepare: Prepare | None = None,
        generator: torch.Generator | None = None,
        remainder: bool = False,
        augment: Literal["varied"] | bool = False,
    ) -> None:
        self.trainee = trainee
        self.lessons = lessons
        self.batch = batch
        self.prepare = prepare
        self.generator = generator
        self.remainder = remainder
        self.augment = augment

    @classmethod
    def of(cls, trainee: Trainee, lessons: Lessons, spec: SampleSpec, schedule: Schedule, seed: int) -> Self:
        """The trainer of a recipe with that schedule and seed, for lessons that are samples of ``spec``."""
        return cls(
            trainee,
            lessons,
            batch=schedule.batch,
            prepare=scaled(spec, schedule),
            generator=torch.Generator(device=lessons.inputs.device).manual_seed(seed),
            augment=schedule.augment,
        )

    def batches(self) -> list[Tensor]:
        """One epoch, freshly drawn: the places of each batch's lessons."""
        device = self.generator.device if self.generator else None
        order = torch.randperm(len(self.lessons), generator=self.generator, device=device)
        batches = list(torch.split(order.to(self.lessons.inputs.device), self.batch))
        if not self.remainder and len(batches[-1]) < self.batch:
            batches.pop()
        return batches

    def step(self, batch: Tensor) -> Tensor:
        """Learn from the lessons at the places ``batch``; gives the loss."""
        lessons = self.lessons[batch]
        if self.augment:
            lessons = lessons.augmented(self.augment, self.generator or torch.default_generator)
        inputs = self.prepare(lessons.inputs) if self.prepare else lessons.inputs
        return self.trainee.step(inputs, lessons.target, lessons.sensitive)

    def epoch(
        self, batches: Sequence[Tensor] | None = None, after: Callable[[float], None] | None = None
    ) -> float:
        """Learn from ``batches`` (None: those of a new epoch); gives the mean loss.

        ``after`` is told after each step which share of the batches is done.
        """
        if batches is None:
            batches = self.batches()
        total = torch.zeros((), device=self.lessons.inputs.device)
        for done, batch in enumerate(batches, 1):
            total += self.step(batch)
            if after:
                after(done / len(batches))
        return float(total) / len(batches)


class Selection(Generic[T]):
    """Keeps the state of the epoch with the highest score, or of the "last" one.

    Of equal scores the first is kept; any score replaces one that is not a number. ``epoch`` is the number of
    the kept epoch, 0 before there is one.
    """

    def __init__(self, rule: Literal["best", "last"] = "best") -> None:
        self.rule = rule
        self.epoch = 0
        self.score = math.nan
        self._state: T | None = None

    @property
    def state(self) -> T:
        """What is kept; raises `ValueError` before anything was offered."""
        if self._state is None:
            raise ValueError("nothing was offered that could be kept")
        return self._state

    def offer(self, epoch: int, score: float, state: Callable[[], T]) -> None:
        """Keep what ``state`` returns, which must be a copy, if this epoch is the best so far."""
        if math.isnan(self.score) or score > self.score or self.rule == "last":
            self.epoch, self.score, self._state = epoch, score, state()


def through_epochs(
    epochs: int,
    epoch: Callable[[Callable[[float], None]], dict[str, float]],
    progress: Progress | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> None:
    """Call ``epoch`` so many times, or until there were ``enough``, with what it tells after each step which
    share of the epoch is done; it gives its entry of the history.

    ``progress`` gets ``{progress, epoch}`` every other second and, after an epoch, its entry as well.
    """
    told = time.perf_counter()
    for number in range(1, epochs + 1):

        def after(share: float, number: int = number) -> None:
            nonlocal told
            if progress and time.perf_counter() - told > REPORT_SECONDS:
                told = time.perf_counter()
                progress({"progress": (number - 1 + share) / epochs, "epoch": float(number)})

        entry = epoch(after)
        if progress:
            told = time.perf_counter()
            progress(entry | {"progress": number / epochs})
        if enough():
            break


def scaled(spec: SampleSpec, schedule: Schedule) -> Prepare:
    """How samples of ``spec`` become a net's input: scaled, in the memory layout of the schedule."""

    def prepare(samples: Tensor) -> Tensor:
        x = to_input(samples, spec)
        return x if schedule.channels_last else x.contiguous()

    return prepare


@contextmanager
def seeded(seed: int, device: str = "cpu") -> Iterator[None]:
    """Dropout and initial weights draw from torch's own generator: seed it, and give it back as it was."""
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        torch.manual_seed(seed)
        yield


def device_name(device: str) -> str:
    """The name of the hardware behind torch's name of a device, for records: "cpu", "NVIDIA H200"."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device
