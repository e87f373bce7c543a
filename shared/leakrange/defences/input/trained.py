"""Input defences that are trained: an obfuscator, which the fleet makes from a recipe and devices run.

**One file makes one of them.** It registers a subclass of `TrainedInputDefence` in `input_defences`, with

- ``Parameters``, a subclass of `TrainedParameters`: the weights of its losses, the size of what it trains;
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

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import override

from leakrange.data.samples import Attribute, Names, names
from leakrange.defences.input import InputDefence
from leakrange.defences.stages import Parameters, mistake
from leakrange.jobs.recipe import DataSpec, NetSpec, OptimiserSpec, Schedule, TrainingRecipe
from leakrange.jobs.versions import DEFENCE
from leakrange.registry import registry_at, unknown
from leakrange.wire.errors import Conflict, InvalidArtifact, InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.loop import Lessons

__all__ = [
    "DefenceConfig",
    "ObfuscatorTraining",
    "Outcome",
    "Task",
    "TrainedInputDefence",
    "TrainedParameters",
]

MAX_BYTES = 512 * 2**20
"""Of an artifact: it may hold samples."""
WEIGHT_DECAY = 1e-4


class TrainedParameters(Parameters):
    """``private``: the attributes to hide, one or several. ``useful``: those to keep, none, one or more.

    ``net`` and ``width`` say what looks at samples, ``epochs``, ``batch`` and ``lr`` how it is trained.
    ``artifact`` is the digest of the recipe of the obfuscator in use, which a plan adds.
    """

    private: Names
    useful: Names | None = None
    net: str = "hbc"
    width: Annotated[float, Field(gt=0.0, le=8.0)] = 1.0
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 200
    batch: Annotated[int, Field(ge=8, le=4096)] = 256
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-3
    artifact: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if both := set(names(self.private)) & set(names(self.useful)):
            raise ValueError(f"{', '.join(sorted(both))}: private and useful at once")
        return self


T = TypeVar("T", bound=TrainedParameters)
OF_THE_RECIPE = frozenset({"net", "width", "epochs", "batch", "lr", "artifact"})
"""Parameters that a recipe says elsewhere."""


class DefenceConfig(BaseModel):
    """What an artifact says of itself: which defence it is of, its parameters, its net, what samples it
    takes, and its ``size``: whatever was found in training that `TrainedInputDefence.build` has to know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    kind: Literal["defence"] = "defence"
    defence: Annotated[str, Field(max_length=64)]
    parameters: dict[str, Any]
    net: NetSpec
    input: SampleSpec
    size: dict[str, Annotated[int, Field(ge=0, le=1_000_000)]] = {}


@dataclass(frozen=True)
class Task:
    """What an obfuscator learns from: samples and, of each, the classes of the attributes.

    config: of what is to be built. private, useful: the number of classes by attribute. lessons:
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
    """What is told of a training: ``figures`` by split, and whatever else belongs into the record."""

    figures: dict[str, dict[str, float]]
    told: dict[str, Any] = field(default_factory=dict)


class ObfuscatorTraining(ABC):
    """One training: the loop calls `step` on batches, `entry` after each epoch, and `outcome` at the end."""

    module: nn.Module
    """The obfuscator, on the device of the lessons."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.config = task.config

    @abstractmethod
    def optimisers(self) -> Sequence[Optimiser]:
        """Everything that moves parameters."""

    @abstractmethod
    def step(self, inputs: Tensor, target: Tensor, sensitive: Tensor | None, /) -> Tensor:
        """Learn from one batch: scaled samples as nets take them, labels (B, useful) and (B, private). Gives
        the loss, detached."""

    def entry(self, loss: float) -> dict[str, float]:  # noqa: ARG002
        """What else belongs into the history of an epoch with that mean ``loss``."""
        return {}

    @abstractmethod
    def outcome(self, parts: Mapping[str, Lessons]) -> Outcome:
        """How it went, on the splits "train", "validation" and "test", as far as they have samples. The
        module is on the CPU, in eval mode and without gradients; it may still be given buffers."""


class TrainedInputDefence(InputDefence[T]):
    """An input defence with a trained obfuscator. Planned, it names its artifact; bound, it has it, and only
    then it can be applied. See the module's docstring for how to write one."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when it trains other obfuscators than before: see `leakrange.jobs.versions`."""
    at_use: ClassVar[frozenset[str]] = frozenset()
    """Parameters that say how the obfuscator is used: the same one does for all their values."""

    def __init__(self, parameters: T) -> None:
        super().__init__(parameters)
        self._module: nn.Module | None = None
        self._config: DefenceConfig | None = None
        self._key = b""

    @classmethod
    @abstractmethod
    def build(cls, parameters: Any, config: DefenceConfig) -> nn.Module:
        """The obfuscator of ``config``, whose ``parameters`` are these, with fresh weights. May raise
        `ValueError` where the net or the ``size`` does not do."""

    @abstractmethod
    def study(self, task: Task) -> ObfuscatorTraining:
        """A training that has not begun. Draws from torch's generator. May raise `InvalidInput` where the
        samples do not do."""

    @abstractmethod
    def obfuscate(
        self, module: Any, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator
    ) -> NDArray[Any]:
        """What ``module``, which is in eval mode, makes of samples (B, *shape) of ``spec``."""

    @property
    def keyed(self) -> bool:
        """Whether it needs a secret key of whoever applies it."""
        return False

    def check(self, attributes: Mapping[str, Attribute]) -> None:
        """Refuse what a data set of these attributes cannot give (`InvalidInput`, with what there is)."""
        for name in (*names(self.parameters.private), *names(self.parameters.useful)):
            if name not in attributes:
                raise InvalidInput(f"no attribute {name!r}; there are: {', '.join(sorted(attributes))}")

    @property
    @override
    def artifact(self) -> str | None:
        """See `InputDefence.artifact`."""
        return self.parameters.artifact

    @override
    def mistakes(self, spec: SampleSpec, attributes: Mapping[str, Attribute]) -> list[dict[str, Any]]:
        """See `InputDefence.mistakes`: attributes that the data has not, what `check` refuses, and a net that
        takes no such samples."""
        given, nets = self.parameters, registry_at("leakrange.nets", "nets")
        found = super().mistakes(spec, attributes)
        for role, named in (("private", given.private), ("useful", given.useful)):
            for place, name in enumerate(names(named)):
                if name not in attributes:
                    path: list[str | int] = [role] if name == named else [role, place]
                    said = f"the data has no attribute {name!r}"
                    found.append(mistake(path, said, sorted(attributes)))
        if not found:
            try:
                self.check(attributes)
            except InvalidInput as error:
                found.append(mistake([], error.detail))
        net = nets.get(given.net)
        if net is None:
            found.append(mistake(["net"], unknown("net", given.net, nets), sorted(nets)))
        elif reason := net.misfit(spec):
            fit = [name for name, each in nets.items() if each.misfit(spec) is None]
            found.append(mistake(["net"], reason, fit))
        return found

    @override
    def recipe(self, data: DataSpec, seed: int) -> TrainingRecipe:
        """How its obfuscator is trained on the training samples of ``data``."""
        given = self.parameters
        elsewhere = OF_THE_RECIPE | self.at_use
        return TrainingRecipe(
            data=data,
            behaviour=DEFENCE + self.name,
            parameters=given.model_dump(
                mode="json", exclude=set(elsewhere), exclude_defaults=True, exclude_none=True
            ),
            net=NetSpec(name=given.net, width=given.width),
            schedule=Schedule(
                epochs=given.epochs,
                batch=given.batch,
                lr=given.lr,
                optimiser=OptimiserSpec(name="adamw", weight_decay=WEIGHT_DECAY),
                decay="cosine",
                select="last",
            ),
            seed=seed,
        )

    @classmethod
    def of(cls, recipe: TrainingRecipe) -> Self:
        """The link whose `recipe` that is; raises `pydantic.ValidationError` for parameters that it does not
        take."""
        how = recipe.schedule
        said = {"net": recipe.net.name, "width": recipe.net.width}
        said |= {"epochs": how.epochs, "batch": how.batch, "lr": how.lr}
        return cls(cls.Parameters.model_validate({**recipe.parameters, **said}))  # type: ignore[arg-type]

    @override
    def planned(self, data: DataSpec, seed: int) -> Self:
        """The link that names the artifact of its `recipe`; itself where it names one already."""
        if self.parameters.artifact is not None:
            return self
        digest = self.recipe(data, seed).digest()
        return type(self)(self.parameters.model_copy(update={"artifact": digest}))

    @override
    def bound(self, load: Callable[[str], bytes], key: bytes) -> Self:
        """The link with its obfuscator, which ``load`` reads by the artifact's digest.

        Raises `Conflict` where it was not planned, `InvalidArtifact` for a file that is not of this defence
        or damaged, `ValueError` where a ``key`` is needed and missing.
        """
        if self.parameters.artifact is None:
            raise Conflict(f"{self.name} names no artifact", hint="plan it, so that it is trained")
        if self.keyed and not key:
            raise ValueError(f"{self.name} needs a secret key")
        config, module = self.opened(load(self.parameters.artifact))
        made = copy.copy(self)
        made._module, made._config, made._key = module, config, key
        return made

    @classmethod
    def opened(cls, content: bytes) -> tuple[DefenceConfig, nn.Module]:
        """The obfuscator in a file, on the CPU, in eval mode, without gradients. Nothing in the file is run;
        raises `InvalidArtifact`."""
        import torch

        from leakrange.nets.module_file import ModuleFile, Uninitialised, first_mistake
        from leakrange.registry import UnknownName

        file = ModuleFile.read(content, MAX_BYTES)
        try:
            config = DefenceConfig.model_validate_json(file.config)
            if config.defence != cls.name:
                raise InvalidArtifact(f"the file is of the defence {config.defence!r}, and not {cls.name!r}")
            given = cls.Parameters.model_validate(config.parameters)
            with torch.device("meta"), Uninitialised():
                plan = cls.build(given, config)
        except ValidationError as e:
            raise InvalidArtifact(f"the config of the file is not valid: {first_mistake(e)}") from e
        except (UnknownName, ValueError) as e:
            raise InvalidArtifact(f"the config of the file cannot be built: {e}") from e
        weights = file.weights(plan)
        with Uninitialised():
            module = cls.build(given, config)
        module.load_state_dict(weights)
        return config, module.eval().requires_grad_(False)

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
