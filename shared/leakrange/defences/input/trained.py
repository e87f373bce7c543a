"""Input defences that are trained: an obfuscator, which the fleet makes from a recipe and devices run.

**One file makes one of them.** It registers a subclass of `TrainedInputDefence` in `input_defences`, with

- ``Parameters``, a subclass of `ObfuscatorParameters`: the weights of its losses, the size of what it trains;
- ``build``: the module that devices run, fresh (of a translator x' = T(x): an encoder and a decoder for
  samples of a `SampleSpec`). Its ``state_dict`` is the artifact;
- ``study``: an `ObfuscatorTraining` of that module. It holds whatever else is trained, such as the
  protector's adversaries (`leakrange.nets.nets`), moves all of it in ``step``, and ends with ``outcome``:
  figures of the adversaries belong there, so that the probing attack's can stand beside them;
- ``obfuscate``: how the module changes a batch. A translator runs T on `leakrange.nets.classifier.to_input`
  of the samples, turns its output back to their axes and scale, and ends with `SampleSpec.nearest`.

Recipe, versions, artifact, loop, record and the place in a chain are the same for all. As in all registered
files, torch is imported inside the functions that use it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import InputDefence
from leakrange.defences.trained import DefenceConfig, Trained, TrainedParameters
from leakrange.jobs.recipe import OptimiserSpec, Schedule
from leakrange.wire.errors import Conflict, InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.loop import Lessons

__all__ = ["ObfuscatorParameters", "ObfuscatorTraining", "Outcome", "Task", "TrainedInputDefence"]

WEIGHT_DECAY = 1e-4


class ObfuscatorParameters(TrainedParameters):
    """``epochs``: the number of passes through the training samples."""

    epochs: Annotated[int, Field(ge=1, le=10_000)] = 200


T = TypeVar("T", bound=ObfuscatorParameters)


@dataclass(frozen=True)
class Task:
    """Material that an obfuscator learns from: samples and, of each, the classes of the attributes.

    config: that of the obfuscator to build. private, useful: the number of classes by attribute. lessons:
    ``sensitive`` (N, private) and ``target`` (N, useful) are labels, a column for each attribute in that
    order.
    """

    config: DefenceConfig
    private: Mapping[str, int]
    useful: Mapping[str, int]
    lessons: Lessons
    schedule: Schedule
    seed: int


@dataclass(frozen=True)
class Outcome:
    """Results of a training: ``figures`` by split, and further entries of the ``record``."""

    figures: dict[str, dict[str, float]]
    record: dict[str, Any] = field(default_factory=dict)


class ObfuscatorTraining(ABC):
    """One training: the loop calls `step` on batches, `entry` after each epoch, and `outcome` at the end."""

    module: nn.Module
    """The obfuscator, on the device of the lessons."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.config = task.config
        self._sums: dict[str, Tensor | float] = {}
        self._steps = 0

    @abstractmethod
    def optimisers(self) -> Sequence[Optimiser]:
        """Every optimiser that moves parameters."""

    @abstractmethod
    def step(self, inputs: Tensor, target: Tensor, sensitive: Tensor | None, /) -> Tensor:
        """Learn from one batch: scaled samples as nets take them, labels (B, useful) and (B, private).
        Returns the loss, detached."""

    def count(self, terms: Mapping[str, Tensor]) -> None:
        """Count the terms of a batch's loss in, for the history."""
        for name, term in terms.items():
            self._sums[name] = self._sums.get(name, 0.0) + term.detach()
        self._steps += 1

    def entry(self, loss: float) -> dict[str, float]:  # noqa: ARG002
        """Further entries of the history for an epoch with that mean ``loss``: by default the mean of each
        term, which then count anew."""
        means = {name: float(total) / self._steps for name, total in self._sums.items()}
        self._sums, self._steps = {}, 0
        return means

    @abstractmethod
    def outcome(self, parts: Mapping[str, Lessons]) -> Outcome:
        """Results on the splits "train", "validation" and "test", as far as they have samples. The module is
        on the CPU, in eval mode and without gradients; it may still be given buffers."""


class TrainedInputDefence(Trained[T], InputDefence[T]):
    """An input defence with a trained obfuscator. See the module's docstring for how to write one."""

    @abstractmethod
    def study(self, task: Task) -> ObfuscatorTraining:
        """Set up a training that has not begun. Draws from torch's generator. May raise `InvalidInput` for
        samples that do not suit it."""

    @abstractmethod
    def obfuscate(
        self, module: Any, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator
    ) -> NDArray[Any]:
        """Change samples (B, *shape) of ``spec`` by ``module``, which is in eval mode."""

    @override
    def schedule(self) -> Schedule:
        """See `Trained.schedule`."""
        parameters = self.parameters
        return Schedule(
            epochs=parameters.epochs,
            batch=parameters.batch,
            lr=parameters.lr,
            optimiser=OptimiserSpec(name="adamw", weight_decay=WEIGHT_DECAY),
            decay="cosine",
            select="last",
        )

    @override
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """See `InputDefence.apply`. Raises `Conflict` before it is bound, `InvalidInput` for samples that its
        obfuscator was not trained for."""
        if self._module is None or self._config is None:
            raise Conflict(
                f"{self.name} has no trained obfuscator",
                hint="bind the chain to its artifacts before it is applied",
            )
        if self._config.input != spec or samples.shape[1:] != spec.shape or samples.dtype != spec.dtype:
            made_for = self._config.input
            raise InvalidInput(
                f"{self.name} was trained for a {made_for.encoding} of {made_for.dtype} and shape "
                f"{made_for.shape}, not for samples of {samples.dtype} and shape {samples.shape[1:]}"
            )
        return self.obfuscate(self._module, samples, spec, draw)
