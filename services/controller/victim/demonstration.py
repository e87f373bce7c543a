"""The part of a run that visitors can try: for each of its data sets, one model of each behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leakrange.data import datasets, names
from leakrange.data.catalogue import DataSet
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.plan import Plan, PlannedModel, PlannedPolicy, PlannedStream
from leakrange.wire.samples import encodings

__all__ = ["BEHAVIOURS", "Demonstration", "demonstrations"]

BEHAVIOURS = ("honest", "curious", "vicious")


@dataclass(frozen=True)
class Demonstration:
    """The models of one data set of a run, at most one of each behaviour, and the run's defences."""

    run: str
    data: str
    plan: Plan
    models: tuple[PlannedModel, ...]

    @property
    def entry(self) -> type[DataSet]:
        """The data set."""
        return datasets[self.spec.name]

    @property
    def spec(self) -> DataSpec:
        """The form of all its samples, whichever a model was trained on."""
        return self.models[0].recipe.data.of_everyone()

    @property
    def hidden(self) -> str | None:
        """The attribute that the providers were not asked for; of several the first."""
        attributes = [names(model.sensitive) for model in self.models if model.sensitive is not None]
        return attributes[0][0] if attributes else None

    @property
    def defences(self) -> list[PlannedPolicy]:
        """The defences under which users of at least one of the models uploaded something."""
        return [policy for policy in self.plan.policies if any(self.stream(m, policy) for m in self.models)]

    @property
    def costs(self) -> int:
        """The number of releases that a try makes."""
        return sum(
            self.stream(model, policy) is not None for policy in self.defences for model in self.models
        )

    def stream(self, model: PlannedModel, policy: PlannedPolicy) -> PlannedStream | None:
        """The users' uploads to the model under that defence, as visitors do them as well; None where there
        are none, or where devices need something that was trained for them."""
        for stream in self.plan.streams:
            if (stream.model, stream.defence, stream.draw) == (model.id, policy.defence, 0):
                return None if stream.local.artifacts else stream
        return None


def behaviour(model: PlannedModel) -> str:
    """One of `BEHAVIOURS`, or something else that visitors are not shown."""
    return model.plays.partition("/")[0]


def demonstrations(run: str, plan: Plan) -> list[Demonstration]:
    """The demonstrations in the order of the scenario; none for a data set without a curious or a vicious
    provider."""
    result = []
    for data in dict.fromkeys(model.data for model in plan.models):
        models = tuple(_chosen([model for model in plan.models if model.data == data and _shown(model)]))
        if any(behaviour(model) != "honest" for model in models):
            result.append(Demonstration(run, data, plan, models))
    return result


def _chosen(models: list[PlannedModel]) -> Iterator[PlannedModel]:
    for wanted in BEHAVIOURS:
        candidates = [model for model in models if behaviour(model) == wanted]
        if candidates:
            yield min(candidates, key=lambda model: model.seed)


def _shown(model: PlannedModel) -> bool:
    """Whether it releases class scores of pictures that may be shown to anybody: drawn ones, and digits."""
    entry = datasets[model.recipe.data.name]
    harmless = entry.procedural() or "digit" in entry.attributes
    scores = model.service is None and model.release in ("logits", "softmax")
    return harmless and scores and encodings[entry.spec.encoding].pictured
