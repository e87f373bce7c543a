"""A provider of a checked scenario, and its models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from leakrange.data import Attribute, datasets
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.providers.student import student_recipe
from leakrange.scenario import registered
from leakrange.scenario.document import ProviderSpec, ServiceSpec
from leakrange.scenario.plan import PlannedModel
from leakrange.wire.releases import ReleaseKind

__all__ = ["Provider", "resolve"]

SHADOWS = 2**31
"""The seeds of shadow models begin here, where no scenario's seed is."""


@dataclass(frozen=True)
class Provider:
    """A provider of a sound scenario: every default filled in, every name looked up."""

    name: str
    label: str
    data: DataSpec
    attributes: dict[str, Attribute]
    key: str
    """The registered behaviour."""
    behaviour: Any
    parameters: BaseModel
    release: ReleaseKind
    target: str
    sensitive: str | None
    net: NetSpec
    schedule: Schedule
    service: ServiceSpec | None = None

    @property
    def decodes(self) -> bool:
        """Whether it reads a hidden attribute from what users send."""
        return self.behaviour.sensitive(self.parameters) is not None

    def recipe(self, seed: int) -> TrainingRecipe:
        """How its model is trained under one seed; of a pool each seed draws members of its own, and of cast
        people, too."""
        data = self.data
        if data.subset is not None:
            data = data.model_copy(update={"subset": data.subset.redrawn("target", seed)})
        if data.crowd is not None:
            data = data.model_copy(update={"seed": data.seed + seed})
        return TrainingRecipe(
            data=data,
            behaviour=self.key,
            parameters=self.parameters.model_dump(mode="json"),
            net=self.net,
            schedule=self.schedule,
            seed=seed,
        )

    def shadow(self, number: int) -> TrainingRecipe:
        """How an attacker trains the shadow of that number: as an honest provider of the task would, with
        this one's net and schedule. Numbers 2n and 2n + 1 share the pool out between them."""
        subset, behaviour = self.data.subset, "honest"
        if subset is None:
            raise ValueError(f"provider {self.name!r} has no pool that shadows could be trained on")
        pair, rest = divmod(number, 2)
        drawn = subset.redrawn("shadow", pair, rest=bool(rest))
        parameters = registered.behaviours()[behaviour].Parameters(target=self.target)
        return TrainingRecipe(
            data=self.data.model_copy(update={"subset": drawn}),
            behaviour=behaviour,
            parameters=parameters.model_dump(mode="json"),
            net=self.net,
            schedule=self.schedule,
            seed=SHADOWS + number,
        )

    def model(self, name: str, seed: int) -> PlannedModel:
        """What it serves under one seed; of a recognition the student, with its teacher."""
        found = self._planned(name, seed, self.recipe(seed), self.sensitive)
        if self.service is None or self.service.kind != "recognition":
            return found
        teacher = found.model_copy(update={"id": f"{name}-teacher", "service": None})
        return found.model_copy(update={"recipe": student_recipe(teacher.recipe), "teacher": teacher})

    def shadow_model(self, name: str, number: int) -> PlannedModel:
        """The shadow of that number, which an attacker trains."""
        return self._planned(name, number, self.shadow(number), None)

    def _planned(self, name: str, seed: int, recipe: TrainingRecipe, sensitive: str | None) -> PlannedModel:
        return PlannedModel(
            id=name,
            provider=self.name,
            seed=seed,
            data=self.label,
            recipe=recipe,
            release=self.release,
            target=self.target,
            sensitive=sensitive,
            service=self.service,
        )

    def spec(self) -> ProviderSpec:
        """As a scenario says it in full."""
        return ProviderSpec.model_validate(
            {
                **self.parameters.model_dump(mode="json"),
                "behaviour": self.key,
                "data": self.label,
                "target": self.target,
                "sensitive": self.sensitive,
                "release": self.release,
                "service": self.service,
                "net": self.net,
                "schedule": self.schedule,
            }
        )


def resolve(name: str, spec: ProviderSpec, data: DataSpec) -> Provider:
    """A provider of a scenario that has been checked."""
    behaviour = registered.behaviours()[spec.behaviour]
    model: type[BaseModel] = behaviour.Parameters
    named = {"target": spec.target, "sensitive": spec.sensitive}
    if spec.service is None:  # whose answers are no choice of release
        named["release"] = spec.release
    parameters = model.model_validate(
        {
            **(spec.model_extra or {}),
            **{key: value for key, value in named.items() if key in model.model_fields},
        }
    )
    if spec.data is None or spec.release is None or spec.net is None or spec.schedule is None:
        raise ValueError(f"provider {name!r} was not checked: parse the scenario first")
    return Provider(
        name=name,
        label=spec.data,
        data=data,
        attributes=dict(datasets[data.name].attributes),
        key=spec.behaviour,
        behaviour=behaviour,
        parameters=parameters,
        release=spec.release,
        target=spec.target,
        sensitive=spec.sensitive,
        net=spec.net,
        schedule=spec.schedule,
        service=spec.service,
    )
