"""Forecasts are counted from the plan, and timed by what was trained before."""

from __future__ import annotations

import pytest

from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.scenario.forecast import forecast, outlook, trains_like
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan

SCENARIO = """\
name: counted
seeds: [0, 1, 2]
data: {name: digits, size: 16}
schedule: {epochs: 6}
providers:
  honest: {behaviour: honest, target: parity, sensitive: large}
  curious:
    {behaviour: curious, method: parameterized, target: parity, sensitive: large, schedule: {epochs: 9}}
clients:
  phones: {kind: edge, count: 2, samples: 32}
defences:
  none: []
  label-only: [argmax]
attacks:
  inside: {kind: curious-decoder}
  outside: {kind: attribute-inference, providers: [honest], auxiliary: 50, knowledge: [unaware]}
budgets: [30, 50]
chunk: 20
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(SCENARIO))


def test_it_counts_what_the_plan_holds(plan: Plan) -> None:
    found = forecast(outlook("counted", plan), set(), {})
    assert (found.name, found.models, found.stored) == ("counted", 6, 0)  # two providers, three seeds
    # inside: one budget suffices for 32 uploads, or both; the matrix itself is tested elsewhere
    assert found.trials == len(plan.trials) > 0
    # each provider's users upload 32 samples under each defence and seed, in requests of 20 and 12
    assert found.uploads == 2 * 2 * 3 * 32
    # attackers ask 50 records of the honest one under each seed, undefended alone: they are unaware
    assert found.asked == 3 * 50
    assert found.requests == 2 * 2 * 3 * 2 + 3 * 3
    assert found.train_seconds is None  # nothing like it was trained here


def test_stored_models_are_not_trained_again(plan: Plan) -> None:
    digests = [model.artifact for model in plan.models]
    assert forecast(outlook("", plan), digests[:2], {}).stored == 2
    whole = forecast(outlook("", plan), digests, {})
    assert (whole.stored, whole.train_seconds) == (6, 0.0)


def test_seconds_are_those_of_the_like_for_as_many_epochs(plan: Plan) -> None:
    honest = next(model.recipe for model in plan.models if model.provider == "honest")
    curious = next(model.recipe for model in plan.models if model.provider == "curious")
    took = {
        trains_like(honest): [(4.0, 2), (30.0, 10), (70.0, 7)],  # 2, 3 and 10 seconds an epoch
        trains_like(curious): [(10.0, 2)],
    }
    assert forecast(outlook("", plan), set(), took).train_seconds == pytest.approx(3 * 6 * 3.0 + 3 * 9 * 5.0)
    stored = {model.artifact for model in plan.models if model.provider == "curious"}
    assert forecast(outlook("", plan), stored, took).train_seconds == pytest.approx(3 * 6 * 3.0)
    del took[trains_like(curious)]
    assert forecast(outlook("", plan), set(), took).train_seconds is None
    assert forecast(outlook("", plan), stored, took).train_seconds == pytest.approx(3 * 6 * 3.0)


def test_likeness_is_of_what_decides_the_time_alone() -> None:
    recipe = TrainingRecipe(data=DataSpec(name="digits", size=16), behaviour="honest")
    assert trains_like(recipe) == trains_like(recipe.model_copy(update={"seed": 3}))
    larger = recipe.model_copy(update={"data": DataSpec(name="digits", size=32)})
    assert trains_like(recipe) != trains_like(larger)
