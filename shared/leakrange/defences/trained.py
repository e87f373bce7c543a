"""Defences that are trained: from a recipe the fleet makes what users' devices then run.

What is trained is an obfuscator of samples (`leakrange.defences.input.trained`) or an extractor of features
(`leakrange.defences.representation`). Recipe, versions, artifact and the place in a chain are the same for
all. As in all registered files, torch is imported inside the functions that use it.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import override

from leakrange.data.samples import Attribute, Names, names
from leakrange.defences.stages import Defence, Parameters, mistake
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.jobs.versions import DEFENCE
from leakrange.registry import registry_at, unknown
from leakrange.wire.errors import Conflict, InvalidArtifact, InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["MAX_BYTES", "DefenceConfig", "Trained", "TrainedParameters"]

MAX_BYTES = 512 * 2**20
"""Of an artifact: it may hold samples."""


class TrainedParameters(Parameters):
    """``private``: the attributes to hide, one or several. ``useful``: those to keep, none, one or more.

    ``net`` and ``width`` say what looks at samples, ``batch`` and ``lr`` how it is trained.
    ``artifact`` is the digest of the recipe of the obfuscator in use, which a plan adds.
    """

    private: Names
    useful: Names | None = None
    net: str = "hbc"
    width: Annotated[float, Field(gt=0.0, le=8.0)] = 1.0
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
    takes, and its ``size``: whatever was found in training that `Trained.build` has to know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    kind: Literal["defence"] = "defence"
    defence: Annotated[str, Field(max_length=64)]
    parameters: dict[str, Any]
    net: NetSpec
    input: SampleSpec
    size: dict[str, Annotated[int, Field(ge=0, le=1_000_000)]] = {}


class Trained(Defence[T]):
    """A defence with an obfuscator, or whatever else is trained for it. Planned, it names its artifact;
    bound, it has it, and only then it can be applied."""

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
        """See `Defence.artifact`."""
        return self.parameters.artifact

    @override
    def mistakes(self, spec: SampleSpec, attributes: Mapping[str, Attribute]) -> list[dict[str, Any]]:
        """See `Defence.mistakes`: attributes that the data has not, what `check` refuses, and a net that
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
            schedule=self.schedule(),
            seed=seed,
        )

    @abstractmethod
    def schedule(self) -> Schedule:
        """How its nets learn."""

    @classmethod
    def of(cls, recipe: TrainingRecipe) -> Self:
        """The link whose `recipe` that is; raises `pydantic.ValidationError` for parameters that it does not
        take."""
        how = recipe.schedule
        said = {"net": recipe.net.name, "width": recipe.net.width}
        said |= {"batch": how.batch, "lr": how.lr}
        if "epochs" in cls.Parameters.model_fields:
            said |= {"epochs": how.epochs}
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
