"""Policies that an audit advises: those that are certain to help, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import yaml

from leakrange.assessment.advice import advised, policies_for
from leakrange.assessment.document import Advice, Assessment
from leakrange.assessment.judged import assessed
from leakrange.assessment.plan import planned
from leakrange.assessment.question import EndpointQuestion
from leakrange.metrics import Estimate
from leakrange.report.findings import find
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.results import TrialResult
from tests.assessment.asked import payers, question, results, trial
from tests.docs.checks import exists


@pytest.fixture(autouse=True, scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EndpointQuestion]:
    folder = tmp_path_factory.mktemp("payers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(folder / "data"))
        payers(folder)
        yield question(members=None, advise=True)


def behind(defence: str, auc: float, half: float = 0.03, honesty: float = 0.8) -> TrialResult:
    one = trial(
        "attribute-inference", "gender", auc=Estimate.within(auc, (auc - half, auc + half)), honesty=honesty
    )
    return one.model_copy(update={"defence": defence, "id": f"{defence}.outside", "knowledge": "aware"})


def document(asked: EndpointQuestion, *trials: TrialResult) -> Assessment:
    plan = planned(asked)
    return assessed(asked, plan, results(plan, *trials), records=600)


def advice(asked: EndpointQuestion, *trials: TrialResult) -> tuple[Advice, ...]:
    return document(asked, *trials).advice


def test_the_policy_that_costs_least_of_those_that_help_is_recommended(asked: EndpointQuestion) -> None:
    said = document(
        asked,
        behind("none", 0.8),
        behind("two-decimals", 0.79),
        behind("one-decimal", 0.51, honesty=0.79),
        behind("sticky-noise", 0.5, honesty=0.74),
    )
    assert [each.policy for each in said.advice] == ["one-decimal", "sticky-noise"]
    assert said.recommendation == (
        "Put “one-decimal” before the model: behind it a lead of more than 0.05 over guessing is excluded "
        "for gender, by attackers who know of it; users get the right answer 79.0 % of the time, and 80.0 % "
        "without it. Attacks that choose what they ask by earlier answers were not tried behind it: audit "
        "the model again once it stands."
    )
    first, _, second = said.advice[0].command.partition(" && ")
    assert first == "leakrange policies put one-decimal 'round: {decimals: 1}'"
    for command in (first, second):
        exists(command.split()[1:3])


def test_a_policy_that_may_still_leak_is_not_advised(asked: EndpointQuestion) -> None:
    said = document(
        asked, behind("none", 0.8), behind("one-decimal", 0.55, 0.06), behind("two-decimals", 0.79)
    )
    assert said.advice == ()
    assert said.recommendation.startswith("Do not let the model out as it is. None of the policies ")
    # Within the bound at 95 % is not enough where the best of four policies is chosen.
    assert advice(asked, behind("none", 0.8), behind("one-decimal", 0.53, 0.065)) == ()
    assert advice(asked, behind("none", 0.8), behind("one-decimal", 0.53, 0.04)) != ()


def test_labels_alone_are_not_advised_where_no_attack_is_made_for_them(asked: EndpointQuestion) -> None:
    members = [
        trial(auc=Estimate.within(value, (value - 0.02, value + 0.02))).model_copy(
            update={"defence": defence, "id": defence}
        )
        for defence, value in (("none", 0.9), ("label-only", 0.51), ("one-decimal", 0.52))
    ]
    on_members = question(hidden=(), advise=True)
    assert [each.policy for each in advice(on_members, *members)] == ["one-decimal"]


def test_nothing_is_advised_where_nothing_leaks(asked: EndpointQuestion) -> None:
    assert advice(asked, behind("none", 0.51), behind("one-decimal", 0.5)) == ()
    plain = asked.model_copy(update={"advise": False})
    found = replace(find(results(planned(plain), behind("none", 0.8))))
    assert advised(found, plain) == ()


def test_a_plan_that_advises_asks_no_more_and_knows_the_policies(asked: EndpointQuestion) -> None:
    with_advice, without = planned(asked), planned(asked.model_copy(update={"advise": False}))
    assert with_advice.samples == without.samples
    plan = expand(parse(yaml.safe_load(with_advice.scenario)))
    assert {policy.defence for policy in plan.policies} == {"none", *policies_for(asked.target)}
    assert {each.result.knowledge for each in plan.trials if each.attack == "attribute-inference"} == {
        "aware"
    }


def test_policies_are_those_that_the_release_allows() -> None:
    few, many = question(), question(card={"classes": ["a", "b", "c", "d"]})
    assert "three-classes" not in policies_for(few.target)
    assert "three-classes" in policies_for(many.target)
    assert policies_for(question(card={"answers": "labels"}).target) == {}
