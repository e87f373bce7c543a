"""Forecasts are counted from the plan, and timed by what was trained before."""

from __future__ import annotations

import weakref

import pytest

from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.scenario import forecast as module
from leakrange.scenario.forecast import forecast, foreseen, outlook, trains_like
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import Expansion, expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario

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
    found = forecast(outlook(parse(SCENARIO)), set(), {})
    assert (found.name, found.models, found.stored) == ("counted", 6, 0)  # two providers, three seeds
    # inside: one budget suffices for 32 uploads, or both; the matrix itself is tested elsewhere
    assert found.trials == len(plan.trials) > 0
    # each provider's users upload 32 samples under each defence and seed, in requests of 20 and 12
    assert found.uploads == 2 * 2 * 3 * 32
    # attackers ask 50 records of the honest one under each seed, undefended alone: they are unaware
    assert found.asked == 3 * 50
    assert found.requests == 2 * 2 * 3 * 2 + 3 * 3
    assert found.train_seconds is None  # nothing like it was trained here


def test_a_large_matrix_is_counted_by_two_seeds_as_if_all_were(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {
        "[0, 1, 2]": "[7, 3, 5, 4, 9]",
        "size: 16}": "size: 16, subset: {pool: 60}}",
        "label-only: [argmax]": "d: [pass: {private: large, epochs: 2}]",
        "[30, 50]": "[30, 200]",
        "attacks:\n": "attacks:\n  rmia: {kind: rmia, shadows: 2, population: 20}\n",
    }
    text = SCENARIO
    for old, new in changes.items():
        text = text.replace(old, new)
    scenario = parse(text)
    whole = foreseen(scenario)
    assert whole == outlook(scenario)
    monkeypatch.setattr(module, "MAX_AT_ONCE", whole.trials - 1)
    short = foreseen(scenario)
    counted = {"trials", "models", "uploads", "asked", "requests"}
    assert short.model_dump(include=counted) == whole.model_dump(include=counted)
    assert sorted(each.like for each in short.trainings.values()) == sorted(
        each.like for each in whole.trainings.values()
    )
    assert "the first two of 5 seeds" in short.warnings[-1]
    monkeypatch.setattr(module, "MAX_REQUESTS", whole.requests - 1)
    with pytest.raises(InvalidScenario) as caught:
        foreseen(scenario)
    assert "would send more than" in caught.value.mistakes[0]["message"]


def test_an_expansion_keeps_no_trial_and_its_plan_is_the_same() -> None:
    scenario = parse(SCENARIO)
    expansion, whole = Expansion(scenario), expand(scenario)
    first = next(trials := iter(expansion))
    kept = weakref.ref(first)
    names = [first.result.id, *(trial.result.id for trial in trials)]
    del first
    assert kept() is None
    assert names == [trial.result.id for trial in whole.trials]
    assert expansion.plan().dumped() == whole.dumped()


def test_stored_models_are_not_trained_again(plan: Plan) -> None:
    digests = [model.artifact for model in plan.models]
    assert forecast(outlook(parse(SCENARIO)), digests[:2], {}).stored == 2
    whole = forecast(outlook(parse(SCENARIO)), digests, {})
    assert (whole.stored, whole.train_seconds) == (6, 0.0)


def test_seconds_are_those_of_the_like_for_as_many_epochs(plan: Plan) -> None:
    honest = next(model.recipe for model in plan.models if model.provider == "honest")
    curious = next(model.recipe for model in plan.models if model.provider == "curious")
    took = {
        trains_like(honest): [(4.0, 2), (30.0, 10), (70.0, 7)],  # 2, 3 and 10 seconds an epoch
        trains_like(curious): [(10.0, 2)],
    }
    assert forecast(outlook(parse(SCENARIO)), set(), took).train_seconds == pytest.approx(
        3 * 6 * 3.0 + 3 * 9 * 5.0
    )
    stored = {model.artifact for model in plan.models if model.provider == "curious"}
    assert forecast(outlook(parse(SCENARIO)), stored, took).train_seconds == pytest.approx(3 * 6 * 3.0)
    del took[trains_like(curious)]
    assert forecast(outlook(parse(SCENARIO)), set(), took).train_seconds is None
    assert forecast(outlook(parse(SCENARIO)), stored, took).train_seconds == pytest.approx(3 * 6 * 3.0)


def test_likeness_is_of_what_decides_the_time_alone() -> None:
    recipe = TrainingRecipe(data=DataSpec(name="digits", size=16), behaviour="honest")
    assert trains_like(recipe) == trains_like(recipe.model_copy(update={"seed": 3}))
    larger = recipe.model_copy(update={"data": DataSpec(name="digits", size=32)})
    assert trains_like(recipe) != trains_like(larger)
