"""What a scenario plans for attacks on a training set's share: whose models, and who is told what."""

from __future__ import annotations

import pytest

from leakrange.jobs.recipe import Composition, DataSpec
from leakrange.jobs.samples import Span
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan, PlannedModel
from leakrange.wire.errors import InvalidScenario
from tests.scenario.planned import trial

TEXT = """\
name: distribution
seeds: [0, 1]
data:
  few:
    name: synthtable
    auxiliary: 0.5
    composition: {attribute: group, having: south, samples: 200, share: 0.2}
  many:
    name: synthtable
    auxiliary: 0.5
    composition: {attribute: group, having: south, samples: 200, share: 0.7}
providers:
  few: {target: passes, data: few}
  many: {behaviour: curious, method: regularized, target: passes, sensitive: group, data: many}
defences: {none: [], noisy: [noise: {scale: 0.5}]}
attacks:
  loss: {kind: loss-test, shares: [0.2, 0.7], stand_ins: 2}
  kl: {kind: kl-test, shares: [0.2, 0.7], stand_ins: 2, shadows: 3, repeats: 2, auxiliary: 120}
  control: {kind: kl-test, shares: [0.4, 0.4], stand_ins: 2, shadows: 3, knowledge: [unaware]}
budgets: [49, 100, 400]
"""
NONE = "its data has no 'composition'"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT))


def composition(model: PlannedModel) -> Composition:
    found = model.recipe.data.composition
    assert found is not None
    return found


def test_the_models_of_an_attack_are_its_own_and_stand_ins_are_trained_as_the_provider(plan: Plan) -> None:
    planned = {shadow.id: shadow for shadow in plan.shadows}
    for provider, behaviour in (("few", "honest"), ("many", "curious/regularized")):
        found = trial(plan, f"{provider}-s1.none.kl.unaware.b100").needs.shadows
        assert found[:4] == [f"{provider}-s1-shadow{number}-of-{share}" for share, number in
                             ((20, 0), (20, 1), (20, 2), (70, 0))]  # fmt: skip
        own, stand_ins = ([planned[name] for name in part] for part in (found[:6], found[6:]))
        assert [composition(each).share for each in own] == [0.2] * 3 + [0.7] * 3
        assert [composition(each).share for each in stand_ins] == [0.2] * 2 + [0.7] * 2
        assert {(composition(each).by, each.recipe.behaviour) for each in own} == {("attacker", "honest")}
        assert {(composition(each).by, each.recipe.behaviour) for each in stand_ins} == {
            ("provider", behaviour)
        }
        loss = trial(plan, f"{provider}-s1.none.loss.unaware.b100").needs.shadows
        assert loss == found[6:]  # it learns from none, and is judged by the same
    models = {model.artifact: model for model in (*plan.models, *plan.shadows)}
    drawn = [(composition(model).seed, model.recipe.behaviour) for model in models.values()]
    assert len(set(drawn)) == len(drawn)  # no two draw the same samples
    assert len({model.recipe.seed for model in plan.shadows} & {0, 1}) == 0


def test_providers_that_differ_by_their_share_alone_are_attacked_with_the_same_models(plan: Plan) -> None:
    shadows = {shadow.id: shadow.artifact for shadow in plan.shadows}
    for number in range(3):
        assert len({shadows[f"{name}-s0-shadow{number}-of-70"] for name in ("few", "many")}) == 1
    assert shadows["few-s0-shadow0-of-70"] != shadows["few-s1-shadow0-of-70"]


def test_equal_shares_have_models_of_their_own(plan: Plan) -> None:
    found = trial(plan, "few-s0.none.control.unaware.b100").needs.shadows
    assert len(set(found)) == len(found) == 2 * 3 + 2 * 2


def test_budgets_buy_records_of_half_of_the_auxiliary_ones(plan: Plan) -> None:
    asked = {
        (each.result.attack, each.result.knowledge, each.result.budget): Span.model_validate(
            each.needs.asked["records"]
        ).stop
        for each in plan.trials
        if each.result.defence == "noisy"
    }
    assert {key: count for key, count in asked.items() if key[0] == "kl"} == {
        ("kl", "unaware", 100): 100,
        ("kl", "unaware", 400): 120,
        ("kl", "aware", 100): 100,
        ("kl", "aware", 400): 120,
        ("kl", "averaging", 100): 50,
        ("kl", "averaging", 400): 120,
    }
    spans = {span.model_dump_json() for each in plan.trials if each.result.attack == "kl"
             for span in each.needs.shows}  # fmt: skip
    assert {'"stop":120' in span for span in spans} == {True}  # models are shown once, for all budgets


def test_nothing_that_an_attacker_is_sent_tells_the_share(plan: Plan) -> None:
    sent = [span for probe in plan.probes for span in probe.spans]
    for each in plan.trials:
        sent += each.needs.shows
        sent += [Span.model_validate(each.needs.asked[name]) for name in ("records", "shown")]
    assert sent
    for span in sent:
        assert span.data.composition is not None
        assert (span.data.composition.share, span.data.composition.seed) == (None, 0)
    draws = {composition(model).seed for model in plan.models}
    assert len(draws) == 2  # another draw for each seed, whatever the share


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("having: south, samples: 200, share: 0.7", "having: west, samples: 200", "composition.having"),
        ("group, having: south, samples: 200, share: 0.7", "job, having: a, samples: 99", "attribute 'job'"),
        ("samples: 200", "samples: 820", "samples of attackers"),
        ("    composition: {attribute: group, having: south, samples: 200, share: 0.2}\n", "", NONE),
        ("shares: [0.4, 0.4]", "shares: [0.4, 0.3]", "should ascend"),
    ],
)  # fmt: skip
def test_mistakes_are_told(before: str, after: str, message: str) -> None:
    assert before in TEXT
    text = TEXT.replace(before, after)
    if message == NONE:
        text = text.replace("{kind: loss-test,", "{kind: loss-test, providers: [few],")
    with pytest.raises(InvalidScenario) as refused:
        expand(parse(text))
    assert message in "\n".join(f"{mistake}" for mistake in [refused.value, *refused.value.mistakes])


def test_a_provider_that_tells_no_share_is_asked_all_the_same() -> None:
    spec = DataSpec.model_validate(
        {"name": "synthtable", "composition": {"attribute": "group", "having": "south", "samples": 20}}
    )
    assert spec.composition is not None
    assert spec.of_everyone() == spec
