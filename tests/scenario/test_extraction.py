"""What a scenario plans for copies of a model, by where the queries come from."""

from __future__ import annotations

import re

import pytest

from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.walk import WalkOrder
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario
from tests.scenario.planned import asked, probed, trial

TEXT = """\
name: copies
data: {name: digits, size: 16}
providers:
  honest: {target: digit, release: softmax}
defences: {noisy: [noise: {scale: 0.5}]}
attacks:
  own: {kind: extraction}
  public: {kind: extraction, queries: public, public: mnist, knowledge: [unaware]}
  drawn: {kind: extraction, queries: drawn, knowledge: [unaware]}
  learner: {kind: extraction, queries: uncertainty, rounds: 4, repeats: 2}
budgets: [100, 900]
"""


def sizes(spec: DataSpec) -> dict[str, int]:
    return {"train": 700 if spec.name == "mnist" else 400, "auxiliary": 300, "test": 200}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT), sizes)


def test_queries_are_of_the_set_that_they_come_from_and_what_is_drawn_has_no_end(plan: Plan) -> None:
    probes = {each.id: each.spans for each in plan.probes}
    for attack, data, split, most in (
        ("own", "digits", "auxiliary", 300),
        ("public", "mnist", "train", 700),
        ("drawn", "digits", "drawn", 900),
    ):
        found = trial(plan, f"honest-s0.noisy.{attack}.unaware.b900")
        spans = probes[probed(found)[0]]
        assert {(span.data.name, span.data.size, span.split) for span in spans} == {(data, 16, split)}
        assert asked(found) == spans[-1].stop == most


def test_a_public_set_is_brought_to_the_size_of_the_models_samples() -> None:
    plan = expand(parse(TEXT.replace("name: digits, size: 16", "name: digits")), sizes)
    assert {span.data.size for probe in plan.probes for span in probe.spans if span.data.name == "mnist"} == {
        16
    }


def test_a_learner_has_all_its_records_to_choose_from_and_the_budget_to_ask(plan: Plan) -> None:
    for budget, queries in ((100, 100), (900, 300)):
        found = trial(plan, f"honest-s0.noisy.learner.unaware.b{budget}")
        assert not found.needs.probes
        [step] = found.needs.steps.values()
        order = WalkOrder.model_validate(step.parameters)
        assert (order.attack, order.target, order.samples) == ("extraction", None, queries)
        assert (order.parameters["queries"], order.parameters["rounds"]) == ("uncertainty", 4)
        assert [(span.split, span.start, span.stop) for span in order.chunks()] == [("auxiliary", 0, 300)]
        assert Span.model_validate(found.needs.asked["span"]) == order.span
    assert not [each for each in plan.trials if "learner.averaging" in each.result.id]
    unknown = expand(parse(TEXT), lambda _: None)
    assert {each.result.attack for each in unknown.trials} == {"own", "public", "drawn"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mnits", "unknown data set 'mnits'"),
        ("cifar10", r"a sample of 'cifar10' is a picture \(16, 16, 3\) .* a picture \(16, 16, 1\)"),
        ("adult", "a sample of 'adult' is a table"),
    ],
)
def test_a_public_set_has_samples_like_the_models(given: str, message: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        expand(parse(TEXT.replace("public: mnist", f"public: {given}")), sizes)
    [mistake] = refused.value.mistakes
    assert re.search(message, mistake["message"])
