"""A provider of a checked scenario, and its models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from leakrange.attacks.kinds.cell import Offer
from leakrange.data import Names, datasets, names
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.providers.student import student_recipe
from leakrange.scenario import registered
from leakrange.scenario.document import ProviderSpec
from leakrange.scenario.plan import PlannedModel, PlannedObfuscator
from leakrange.targets.target import RemoteTarget
from leakrange.wire.releases import ReleaseKind

__all__ = ["SoundProvider", "parameters_of", "resolve"]

SHADOWS = 2**31
"""The seeds of shadow models begin here, where no scenario's seed is."""


@dataclass(frozen=True, kw_only=True)
class SoundProvider(Offer):
    """A provider of a sound scenario: every default filled in, every name looked up. ``sensitive`` is the one
    attribute of those that it ``hides`` which an attack is after."""

    name: str
    label: str
    key: str
    """The registered behaviour."""
    behaviour: Any
    parameters: BaseModel
    hides: Names | None
    """Every attribute that it hides, or that attackers are after."""
    net: NetSpec
    schedule: Schedule

    def by_attribute(self) -> Iterator[SoundProvider]:
        """The provider as an attack sees it that is after one attribute: for each that it hides."""
        for name in names(self.hides) or (None,):
            yield replace(self, sensitive=name)

    @property
    def trains(self) -> bool:
        """Whether the range trains its model."""
        return bool(self.behaviour.trains)

    @property
    def decodes(self) -> bool:
        """Whether it reads a hidden attribute from what users send."""
        return self.behaviour.sensitive(self.parameters) is not None

    @property
    def remote(self) -> RemoteTarget | None:
        """Where a remote model is asked, for the provider's data; None for a model of the range."""
        target: RemoteTarget | None = getattr(self.parameters, "endpoint", None)
        if target is None:
            return None
        [asked] = names(self.target)
        return target.of_data(self.attributes[asked].classes, datasets[self.data.name].sample(self.data))

    @property
    def reconstructs(self) -> bool:
        """Whether it reads whole samples from what users send."""
        return bool(self.behaviour.reconstructs)

    def recipe(self, seed: int) -> TrainingRecipe:
        """Return the recipe of its model under one seed. Each seed draws its own members of a pool, unless
        these are known, or of cast people, unless somebody else trained it on them."""
        data = self.data
        if data.subset is not None and data.subset.members is None:
            data = data.model_copy(update={"subset": data.subset.redrawn("target", seed)})
        if data.crowd is not None and self.trains:
            data = data.model_copy(update={"seed": data.seed + seed})
        if data.composition is not None and self.behaviour.trains:
            data = data.model_copy(update={"composition": data.composition.redrawn("target", seed)})
        return TrainingRecipe(
            data=data,
            behaviour=self.key,
            parameters=self.behaviour.decisive(self.parameters),
            net=self.net,
            schedule=self.schedule,
            seed=seed if self.trains else 0,
        )

    def shadow(self, number: int) -> TrainingRecipe:
        """Return the recipe of an attacker's shadow of that number, with this provider's net and schedule.
        Numbers 2n and 2n + 1 divide the pool between them."""
        subset = self.data.subset
        if subset is None:
            raise ValueError(f"provider {self.name!r} has no pool that shadows could be trained on")
        pair, rest = divmod(number, 2)
        drawn = subset.redrawn("shadow", pair, rest=bool(rest))
        return self._attackers(self.data.model_copy(update={"subset": drawn}), SHADOWS + number)

    def composed(self, seed: int, number: int, share: float, *, stand_in: bool) -> TrainingRecipe:
        """Return the recipe of a model whose training samples have that share of the data's composition: an
        attacker's own, or a ``stand_in`` for the provider's, trained as that is. Of a provider that trains
        nothing here, the stand-ins are trained as an attacker's models are, on other draws."""
        composition = self.data.composition
        if composition is None:
            raise ValueError(f"the data of provider {self.name!r} has no composition")
        as_provider = stand_in and self.behaviour.trains
        drawn = composition.redrawn(
            "stand-in" if stand_in else "shadow", seed, number, share,
            share=share, by="provider" if as_provider else "attacker",
        )  # fmt: skip
        data = self.data.model_copy(update={"composition": drawn})
        if not as_provider:
            return self._attackers(data, SHADOWS + drawn.seed)
        return self.recipe(seed).model_copy(update={"data": data, "seed": SHADOWS + drawn.seed})

    def _attackers(self, data: DataSpec, seed: int) -> TrainingRecipe:
        """The recipe of an attacker's model: as an honest provider of the task, or as this one where its
        behaviour is ``shadowed``, with this one's net and schedule."""
        behaviour = self.key if self.behaviour.shadowed else "honest"
        honest = registered.behaviours()["honest"].Parameters(target=self.target)
        parameters = self.parameters if self.behaviour.shadowed else honest
        return TrainingRecipe(
            data=data,
            behaviour=behaviour,
            parameters=parameters.model_dump(mode="json"),
            net=self.net,
            schedule=self.schedule,
            seed=seed,
        )

    def model(self, name: str, seed: int) -> PlannedModel:
        """Return the model that the provider serves under one seed; for a recognition, the student with its
        teacher."""
        planned = self._planned(name, seed, self.recipe(seed), self.hides)
        if self.remote is not None:
            return planned.model_copy(update={"remote": self.remote})
        if self.service is None or self.service.kind != "recognition":
            return planned
        teacher = planned.model_copy(update={"id": f"{name}-teacher", "service": None})
        return planned.model_copy(update={"recipe": student_recipe(teacher.recipe), "teacher": teacher})

    def represented(self, name: str, seed: int, extractor: PlannedObfuscator) -> PlannedModel:
        """The model that it serves to devices which upload the features of ``extractor``."""
        planned = self.model(name, seed)
        recipe = planned.recipe.model_dump() | {
            "net": extractor.recipe.net,
            "extractor": extractor.artifact,
        }
        del recipe["versions"]  # of another net
        return planned.model_copy(
            update={"recipe": TrainingRecipe.model_validate(recipe), "extractor": extractor}
        )

    def own_model(self, name: str, number: int, recipe: TrainingRecipe) -> PlannedModel:
        """The model of that number, which nobody serves, such as an attacker's shadow."""
        return self._planned(name, number, recipe, None)

    def recogniser(self, name: str, seed: int) -> PlannedModel:
        """An attacker's own recogniser of people: a net like the teacher's, trained three times as long on
        the public alone, whose pictures are fewer. Raises `ValueError` if the data has no crowd."""
        recipe = self.recipe(seed)
        if recipe.data.crowd is None:
            raise ValueError(f"provider {self.name!r} has no crowd whose public could be learnt")
        public = recipe.data.crowd.model_copy(update={"learners": "public"})
        parameters = registered.behaviours()["honest"].Parameters(target="person")
        changed: dict[str, Any] = {"epochs": 3 * self.schedule.epochs}
        if self.schedule.select == "strangers":  # it has learnt the public's, and nobody is one to it
            changed["select"] = "best"
        learner = recipe.model_copy(
            update={
                "data": recipe.data.model_copy(update={"crowd": public}),
                "behaviour": "honest",
                "parameters": parameters.model_dump(mode="json"),
                "schedule": self.schedule.model_copy(update=changed),
            }
        )
        planned = self._planned(name, seed, TrainingRecipe.model_validate(learner.model_dump()), None)
        return planned.model_copy(update={"release": "features", "service": None})

    def _planned(self, name: str, seed: int, recipe: TrainingRecipe, sensitive: Names | None) -> PlannedModel:
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
        """The provider as a scenario would write it in full."""
        return ProviderSpec.model_validate(
            {
                **self.parameters.model_dump(mode="json"),
                "behaviour": self.key,
                "data": self.label,
                "target": self.target,
                "sensitive": self.hides,
                "release": self.release,
                "service": self.service,
                "net": self.net.model_dump(),
                "schedule": self.schedule,
            }
        )


def parameters_of(behaviour: Any, spec: ProviderSpec, release: ReleaseKind | None) -> BaseModel:
    """Return the parameters of a provider's behaviour; raises `ValidationError`.

    Users' samples and a service's answers are no choice of what the model releases.
    """
    model: type[BaseModel] = behaviour.Parameters
    chosen = release if spec.service is None and release in behaviour.releases else None
    named = {"target": spec.target, "sensitive": spec.sensitive, "release": chosen}
    given = {key: value for key, value in named.items() if key in model.model_fields and value is not None}
    return model.model_validate({**(spec.model_extra or {}), **given})


def resolve(name: str, spec: ProviderSpec, data: DataSpec) -> SoundProvider:
    """Return a provider of a checked scenario."""
    behaviour = registered.behaviours()[spec.behaviour]
    parameters = parameters_of(behaviour, spec, spec.release)
    if spec.data is None or spec.release is None or spec.net is None or spec.schedule is None:
        raise ValueError(f"provider {name!r} was not checked: parse the scenario first")
    return SoundProvider(
        name=name,
        label=spec.data,
        data=data,
        attributes=dict(datasets[data.name].attributes),
        key=spec.behaviour,
        behaviour=behaviour,
        parameters=parameters,
        release=spec.release,
        target=spec.target,
        hides=spec.sensitive,
        net=spec.net.of(datasets[data.name].sample(data)),
        schedule=spec.schedule,
        service=spec.service,
    )
