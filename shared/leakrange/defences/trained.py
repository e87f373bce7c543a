"""Defences that are trained: the fleet makes from a recipe what users' devices then run.

That is an obfuscator of samples (`leakrange.defences.input.trained`) or an extractor of features
(`leakrange.defences.representation`). Recipe, versions, artifact and the place in a chain are the same for
all. As in all registered files, torch is imported inside the functions that use it.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from typing_extensions import override

from leakrange.data.catalogue import datasets
from leakrange.data.samples import Attribute, Names, names
from leakrange.defences.stages import Defence, Parameters, mistake
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.jobs.versions import DEFENCE
from leakrange.registry import registry_at, unknown
from leakrange.strict import Strict
from leakrange.wire.errors import Conflict, InvalidArtifact, InvalidInput
from leakrange.wire.samples import Purpose, SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["MAX_BYTES", "DefenceConfig", "Trained", "TrainedParameters"]

MAX_BYTES = 512 * 2**20
"""Largest size of an artifact, which may hold samples."""


class TrainedParameters(Parameters):
    """``private``: the attributes to hide, one or several. ``useful``: those to keep, none, one or more.
    ``net`` (default: one for the kind of sample) and ``width`` choose the net that sees samples, ``batch``
    and ``lr`` its training. ``artifact`` is the digest of the recipe of the obfuscator in use, which a plan
    adds.
    """

    private: Names
    useful: Names | None = None
    net: str | None = None
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
"""Parameters that have other fields in a recipe."""


class DefenceConfig(Strict):
    """An artifact's description of itself: the defence, its parameters, its net, the samples that it takes,
    and its ``size``: whatever training determined that `Trained.build` has to know."""

    format: Literal[1] = 1
    kind: Literal["defence"] = "defence"
    defence: Annotated[str, Field(max_length=64)]
    parameters: dict[str, Any]
    net: NetSpec
    input: SampleSpec
    size: dict[str, Annotated[int, Field(ge=0, le=1_000_000)]] = {}


class Trained(Defence[T]):
    """A defence with something trained for it, such as an obfuscator. Planned, it names its artifact; bound,
    it has it, and only then it can be applied."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when it trains other obfuscators than before: see `leakrange.jobs.versions`."""
    purpose: ClassVar[Purpose] = "model"
    """What its net is for."""
    at_use: ClassVar[frozenset[str]] = frozenset()
    """Parameters of the obfuscator's use: one obfuscator serves all their values."""

    def __init__(self, parameters: T) -> None:
        super().__init__(parameters)
        self._module: nn.Module | None = None
        self._config: DefenceConfig | None = None
        self._key = b""

    @classmethod
    @abstractmethod
    def build(cls, parameters: Any, config: DefenceConfig) -> nn.Module:
        """The obfuscator of ``config``, whose ``parameters`` are these, with fresh weights. May raise
        `ValueError` where the net or the ``size`` is unsuitable."""

    @property
    def keyed(self) -> bool:
        """Whether it needs a secret key of whoever applies it."""
        return False

    def check(self, attributes: Mapping[str, Attribute]) -> None:
        """Refuse parameters that a data set of these attributes cannot serve (`InvalidInput`, with its
        attributes)."""
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
        """See `Defence.mistakes`: attributes that the data does not have, those that `check` refuses, and a
        net that takes no such samples."""
        parameters, nets = self.parameters, registry_at("leakrange.nets", "nets")
        mistakes = super().mistakes(spec, attributes)
        for role, named in (("private", parameters.private), ("useful", parameters.useful)):
            for place, name in enumerate(names(named)):
                if name not in attributes:
                    path: list[str | int] = [role] if name == named else [role, place]
                    missing = f"the data has no attribute {name!r}"
                    mistakes.append(mistake(path, missing, sorted(attributes)))
        if not mistakes:
            try:
                self.check(attributes)
            except InvalidInput as error:
                mistakes.append(mistake([], error.detail))
        chosen = self.net(spec).name
        net = nets.get(chosen)
        if net is None:
            mistakes.append(mistake(["net"], unknown("net", chosen, nets), sorted(nets)))
        elif reason := net.misfit(spec):
            fit = [name for name, each in nets.items() if each.misfit(spec) is None]
            mistakes.append(mistake(["net"], reason, fit))
        return mistakes

    def net(self, spec: SampleSpec) -> NetSpec:
        """What looks at samples of ``spec``."""
        given = self.parameters
        return NetChoice(name=given.net, width=given.width).of(spec, self.purpose)

    @override
    def recipe(self, data: DataSpec, seed: int) -> TrainingRecipe:
        """The recipe of its obfuscator, trained on the training samples of ``data``."""
        parameters = self.parameters
        elsewhere = OF_THE_RECIPE | self.at_use
        return TrainingRecipe(
            data=data,
            behaviour=DEFENCE + self.name,
            parameters=parameters.model_dump(
                mode="json", exclude=set(elsewhere), exclude_defaults=True, exclude_none=True
            ),
            net=self.net(datasets[data.name].sample(data)),
            schedule=self.schedule(),
            seed=seed,
        )

    @abstractmethod
    def schedule(self) -> Schedule:
        """The training schedule of its nets."""

    @classmethod
    def of(cls, recipe: TrainingRecipe) -> Self:
        """The link with that `recipe`. Raises `pydantic.ValidationError` for parameters that it does not
        take."""
        schedule = recipe.schedule
        fields = {"net": recipe.net.name, "width": recipe.net.width}
        fields |= {"batch": schedule.batch, "lr": schedule.lr}
        if "epochs" in cls.Parameters.model_fields:
            fields |= {"epochs": schedule.epochs}
        return cls(cls.Parameters.model_validate({**recipe.parameters, **fields}))  # type: ignore[arg-type]

    @override
    def planned(self, data: DataSpec, seed: int) -> Self:
        """The link that names its net, and the artifact of its `recipe` or that which it named already."""
        artifact = self.parameters.artifact or self.recipe(data, seed).digest()
        named = {"net": self.net(datasets[data.name].sample(data)).name, "artifact": artifact}
        parameters = self.parameters.model_copy(update=named)
        return self if parameters == self.parameters else type(self)(parameters)

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
        link = copy.copy(self)
        link._module, link._config, link._key = module, config, key
        return link

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
            parameters = cls.Parameters.model_validate(config.parameters)
            with torch.device("meta"), Uninitialised():
                plan = cls.build(parameters, config)
        except ValidationError as e:
            raise InvalidArtifact(f"the config of the file is not valid: {first_mistake(e)}") from e
        except (UnknownName, ValueError) as e:
            raise InvalidArtifact(f"the config of the file cannot be built: {e}") from e
        weights = file.weights(plan)
        with Uninitialised():
            module = cls.build(parameters, config)
        module.load_state_dict(weights)
        return config, module.eval().requires_grad_(False)
