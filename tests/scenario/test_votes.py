"""What a scenario plans for an ensemble, and for a defence that counts votes."""

from __future__ import annotations

import pytest

from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario
from tests.scenario.test_membership import sizes

TEXT = """\
name: votes
data: {name: digits, subset: {pool: 300}}
schedule: {select: last, batch: 20}
providers:
  alone: {target: digit, release: softmax}
  five: {behaviour: honest, method: ensemble, voters: 5, target: digit, release: softmax}
  six: {behaviour: honest, method: ensemble, voters: 6, target: digit, release: softmax}
defences: {none: [], vote: [noisy-vote: {voters: 5, sigma: 2}]}
attacks:
  lira: {kind: lira, shadows: 2}
budgets: [300]
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT), sizes)


def test_votes_are_counted_of_as_many_voters_alone(plan: Plan) -> None:
    counted = {(each.result.provider, each.result.defence) for each in plan.trials}
    assert counted == {("alone", "none"), ("five", "none"), ("six", "none"), ("five", "vote")}


def test_shadows_of_an_ensemble_are_ensembles(plan: Plan) -> None:
    recipes = {shadow.id.partition("-")[0]: shadow.recipe for shadow in plan.shadows}
    assert {name: recipe.behaviour for name, recipe in recipes.items()} == {
        "alone": "honest",
        "five": "honest/ensemble",
        "six": "honest/ensemble",
    }
    assert recipes["six"].parameters == {"target": "digit", "voters": 6}


def test_a_vote_that_no_provider_takes_is_a_mistake_at_its_voters() -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace("{voters: 5, sigma: 2}", "{voters: 7, sigma: 2}"))
    [mistake] = refused.value.mistakes
    assert "does not answer with the votes of 7 models" in mistake["message"]
    assert mistake["line"] == 8
