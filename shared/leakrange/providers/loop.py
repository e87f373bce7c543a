"""The loop of every training, in parts that can be called separately: a step, an epoch, the choice of the
epoch."""

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
    "ByVoter",
    "EpochSelection",
    "FittedNet",
    "Lessons",
    "Progress",
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
        """These pictures and, after them, an augmented copy of each, with the same labels."""
        copies = from_pixels(augmented(to_pixels(self.inputs), generator)).round_().to(self.inputs.dtype)
        sensitive = None if self.sensitive is None else torch.cat([self.sensitive, self.sensitive])
        return Lessons(torch.cat([self.inputs, copies]), torch.cat([self.target, self.target]), sensitive)

    def augmented(self, how: Literal["varied"] | bool, generator: torch.Generator) -> Lessons:
        """These pictures, changed as a schedule's ``augment`` says."""
        if how == "varied":
            return replace(self, inputs=varied(self.inputs, generator))
        return self.with_copies(generator) if how else self

    def __getitem__(self, chosen: Tensor) -> Lessons:
        """The lessons at the places ``chosen`` (B,), in that order."""
        sensitive = None if self.sensitive is None else self.sensitive[chosen]
        return Lessons(self.inputs[chosen], self.target[chosen], sensitive)


class Trainee(Protocol):
    """A learner that a `Trainer` gives batches to."""

    def step(self, inputs: Tensor, target: Tensor, sensitive: Tensor | None, /) -> Tensor:
        """Learn from one batch, whose inputs are in the form that the net takes; gives the loss, detached."""
        ...


class FittedNet:
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

    ``prepare`` makes a net's input from a batch of samples. An epoch goes through the lessons in an order
    that ``generator`` draws (None: torch's own, on the CPU). The rest after the last whole batch becomes a
    smaller batch if ``remainder`` is set, and is left out of the epoch otherwise. With ``poisson`` each of
    as many batches takes every lesson with the same probability, ``batch`` of them on average. ``augment`` is
    that of a schedule; ``generator`` draws its changes as well.
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
        poisson: bool = False,
    ) -> None:
        self.trainee = trainee
        self.lessons = lessons
        self.batch = batch
        self.prepare = prepare
        self.generator = generator
        self.remainder = remainder
        self.augment = augment
        self.poisson = poisson

    @classmethod
    def of(
        cls,
        trainee: Trainee,
        lessons: Lessons,
        spec: SampleSpec,
        schedule: Schedule,
        seed: int,
        *,
        poisson: bool = False,
    ) -> Self:
        """The trainer of a recipe with that schedule and seed, for lessons that are samples of ``spec``."""
        return cls(
            trainee,
            lessons,
            batch=schedule.batch,
            prepare=scaled(spec, schedule),
            generator=torch.Generator(device=lessons.inputs.device).manual_seed(seed),
            augment=schedule.augment,
            poisson=poisson,
        )

    def batches(self) -> list[Tensor]:
        """One epoch, freshly drawn: the places of each batch's lessons."""
        device = self.generator.device if self.generator else None
        count = len(self.lessons)
        if self.poisson:
            draws = (
                torch.rand(count, generator=self.generator, device=device) for _ in range(count // self.batch)
            )
            return [
                (draw < self.batch / count).nonzero()[:, 0].to(self.lessons.inputs.device) for draw in draws
            ]
        order = torch.randperm(count, generator=self.generator, device=device)
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

        After each step ``after`` is called with the share of the batches that is done.
        """
        if batches is None:
            batches = self.batches()
        total = torch.zeros((), device=self.lessons.inputs.device)
        for done, batch in enumerate(batches, 1):
            total += self.step(batch)
            if after:
                after(done / len(batches))
        return float(total) / len(batches)


class ByVoter(Trainer):
    """A trainer whose batches are each of one voter's lessons, whose number (N,), from 0, stands where a
    sensitive label would. What remains after a voter's last whole batch is left out of the epoch."""

    def batches(self) -> list[Tensor]:
        """See `Trainer.batches`; one voter after the other."""
        numbers = self.lessons.sensitive
        assert numbers is not None
        batches: list[Tensor] = []
        for number in range(int(numbers.max()) + 1):
            places = (numbers == number).nonzero()[:, 0]
            order = torch.randperm(len(places), generator=self.generator, device=places.device)
            batches += [each for each in torch.split(places[order], self.batch) if len(each) == self.batch]
        return batches


class EpochSelection(Generic[T]):
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
        """The kept state; raises `ValueError` before anything was offered."""
        if self._state is None:
            raise ValueError("nothing was offered that could be kept")
        return self._state

    def offer(self, epoch: int, score: float, state: Callable[[], T]) -> None:
        """Keep the state from ``state``, which must return a copy, if this epoch is the best so far."""
        if math.isnan(self.score) or score > self.score or self.rule == "last":
            self.epoch, self.score, self._state = epoch, score, state()


def through_epochs(
    epochs: int,
    epoch: Callable[[Callable[[float], None]], dict[str, float]],
    progress: Progress | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> None:
    """Call ``epoch`` for each of so many epochs, or until ``enough`` says so. It gets a function to report
    the finished share of the epoch with, after each step, and gives the epoch's entry of the history.

    ``progress`` gets ``{progress, epoch}`` every other second and, after an epoch, its entry as well.
    """
    reported = time.perf_counter()
    for number in range(1, epochs + 1):

        def after(share: float, number: int = number) -> None:
            nonlocal reported
            if progress and time.perf_counter() - reported > REPORT_SECONDS:
                reported = time.perf_counter()
                progress({"progress": (number - 1 + share) / epochs, "epoch": float(number)})

        entry = epoch(after)
        if progress:
            reported = time.perf_counter()
            progress(entry | {"progress": number / epochs})
        if enough():
            break


def scaled(spec: SampleSpec, schedule: Schedule) -> Prepare:
    """The conversion of samples of ``spec`` to a net's input: scaled, in the memory layout of the
    schedule."""

    def prepare(samples: Tensor) -> Tensor:
        x = to_input(samples, spec)
        return x if schedule.channels_last else x.contiguous()

    return prepare


@contextmanager
def seeded(seed: int, device: str = "cpu") -> Iterator[None]:
    """Seed torch's own generator, which dropout and initial weights draw from, and restore its state
    afterwards."""
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        torch.manual_seed(seed)
        yield


def device_name(device: str) -> str:
    """The name of the hardware behind torch's name of a device, for records: "cpu", "NVIDIA H200"."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device
