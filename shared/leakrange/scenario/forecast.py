"""Forecasts what a run of a scenario will take, from its plan alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from statistics import median
from typing import Annotated

from pydantic import BaseModel, Field

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.scenario.bounds import MAX_AT_ONCE, MAX_REQUESTS, refuse_requests
from leakrange.scenario.document import Scenario
from leakrange.scenario.matrix import Expansion
from leakrange.scenario.partial import partial_answers
from leakrange.scenario.plan import Plan
from leakrange.scenario.sizes import Sizes, split_sizes
from leakrange.scenario.unread import unread_decoders

__all__ = [
    "ExpectedTraining",
    "Forecast",
    "Outlook",
    "Trained",
    "forecast",
    "foreseen",
    "outlook",
    "trains_like",
]

COUNTS = ("trials", "models", "uploads", "asked", "requests")
Trained = tuple[float, int]
"""The cost of one training: its seconds, and the epochs that it was to have."""


class ExpectedTraining(BaseModel):
    """A model to train: what is known of its ``like`` tells how long it takes."""

    data: str
    behaviour: str
    like: str
    epochs: int


class Outlook(BaseModel):
    """What a plan comes to, whatever is stored: ``models`` of providers to train, all ``trainings`` by the
    digest of what is trained, and ``warnings`` of what it leaves out. The other fields are those of
    `Forecast`."""

    name: str
    trials: int
    models: int
    uploads: int
    asked: int
    requests: int
    trainings: dict[str, ExpectedTraining]
    warnings: list[str]


class Forecast(BaseModel):
    """``models`` are all that are trained for the run (providers', attackers' and defences'), of which
    ``stored`` are there already. Users upload ``uploads`` samples, attackers have ``asked`` samples answered,
    together in so many ``requests``. ``train_seconds`` is what the other models would take to train one after
    the other, as long as such models took here before; None where one of them has no like.
    """

    name: str
    trials: int
    models: int
    stored: int
    uploads: int
    asked: int
    requests: int
    train_seconds: Annotated[float, Field(ge=0)] | None


def trains_like(recipe: TrainingRecipe) -> str:
    """Return what two trainings must share for one to tell how long the other takes: data, net, behaviour."""
    data = recipe.data
    drawn = [data.name, data.size, data.limit, data.count, data.subset and data.subset.pool]
    parts = [*drawn, recipe.net.name, recipe.net.width, recipe.behaviour]
    return "/".join("" if part is None else str(part) for part in parts)


def foreseen(scenario: Scenario, sizes: Sizes = split_sizes) -> Outlook:
    """The outlook of a scenario. A large matrix is counted by its first two seeds: each further one adds what
    the second adds. Raises `InvalidScenario` as `expand` does."""
    one, two = (
        outlook(scenario.model_copy(update={"seeds": scenario.seeds[:seeds]}), sizes) for seeds in (1, 2)
    )
    more = len(scenario.seeds) - 2
    if more < 1 or one.trials * len(scenario.seeds) <= MAX_AT_ONCE:
        return outlook(scenario, sizes)
    counts = {name: getattr(two, name) + more * (getattr(two, name) - getattr(one, name)) for name in COUNTS}
    if counts["requests"] > MAX_REQUESTS:
        refuse_requests(scenario.chunk)
    added = [each for digest, each in two.trainings.items() if digest not in one.trainings]
    others = {f"{place} of seed {n + 3}": each for place, each in enumerate(added) for n in range(more)}
    note = (
        f"This is counted by the first two of {more + 2} seeds. Whether models of the others are trained"
        " already is seen when the run begins."
    )
    given = {"trainings": two.trainings | others, "warnings": [*two.warnings, note]}
    return two.model_copy(update=counts | given)


def outlook(scenario: Scenario, sizes: Sizes = split_sizes) -> Outlook:
    """The outlook of a scenario, every trial counted, and none kept. Raises `InvalidScenario` as `expand`
    does."""
    expansion = Expansion(scenario, sizes)
    trials = sum(1 for _ in expansion)
    plan, tried = expansion.plan(), list(expansion.tried.values())
    recipes = {each.artifact: each.recipe for each in plan.trained}
    probes = [probe for probe in plan.probes if not probe.downloads and not probe.replays]
    uploads = [
        span.stop - span.start for stream in plan.streams if not stream.replays for span in stream.spans
    ]
    asked = [span.stop - span.start for probe in probes for span in probe.spans]
    names = {name: spec.kind for name, spec in scenario.attacks.items()}
    return Outlook(
        name=scenario.name,
        trials=trials,
        models=sum(model.remote is None for model in plan.models),
        uploads=sum(uploads),
        asked=sum(asked),
        requests=len(uploads) + len(asked),
        trainings={
            digest: ExpectedTraining(
                data=recipe.data.name,
                behaviour=recipe.behaviour,
                like=trains_like(recipe),
                epochs=recipe.schedule.epochs,
            )
            for digest, recipe in recipes.items()
        },
        warnings=[*unread_decoders(tried), *partial_answers(_answers(plan), tried, names)],
    )


def _answers(plan: Plan) -> dict[str, str]:
    """What remote models tell of their values, by provider, where that is not all."""
    remote = {model.provider: model.remote for model in plan.models if model.remote is not None}
    return {name: each.card.answers for name, each in remote.items() if each.card.answers != "all"}


def forecast(planned: Outlook, stored: Collection[str], took: Mapping[str, Collection[Trained]]) -> Forecast:
    """The forecast for a plan. ``stored`` are digests of trained models, ``took`` what former trainings took,
    by `trains_like`."""
    missing = [each for digest, each in planned.trainings.items() if digest not in stored]
    seconds = [_seconds(each, took.get(each.like, ())) for each in missing]
    known = [each for each in seconds if each is not None]
    return Forecast(
        **planned.model_dump(include={"name", "trials", "uploads", "asked", "requests"}),
        models=len(planned.trainings),
        stored=len(planned.trainings) - len(missing),
        train_seconds=sum(known) if len(known) == len(seconds) else None,
    )


def _seconds(training: ExpectedTraining, took: Collection[Trained]) -> float | None:
    if not took:
        return None
    return median(seconds / epochs for seconds, epochs in took) * training.epochs
