"""Where attacks on substitutes are tried: on defences that put records of others in place of samples."""

from __future__ import annotations

import pytest

from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from tests.scenario.planned import trial
from tests.scenario.test_language import mistakes_of

TEXT = """\
name: whose
seeds: [0]
data: {name: synthmotion, count: 800}
net: {name: mlp}
providers:
  samples: {target: activity, sensitive: hand, release: sample}
clients:
  phones: {kind: edge, samples: 100}
defences:
  none: []
  noise: [gaussian-input: 1]
  translated: [adv: {private: hand, useful: activity, net: mlp}]
  pass: [pass: {private: hand, useful: activity, net: mlp}]
  noisy: [pass: {private: hand, useful: activity, net: mlp}, gaussian-input: 1]
attacks:
  members: {kind: substitute-margin, knowledge: [unaware, aware]}
budgets: [40, 90]
"""
SIZES = {"train": 500, "validation": 50, "auxiliary": 60, "test": 100}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT), lambda _spec: SIZES)


def test_only_defences_with_substitutes_are_attacked(plan: Plan) -> None:
    assert {each.result.defence for each in plan.trials} == {"pass", "noisy"}
    assert len(plan.trials) == 2 * 2 * 2
    assert {each.result.sensitive for each in plan.trials} == {"substitutes"}
    assert {each.recipe.defence for each in plan.obfuscators} == {"pass"}


def test_who_knows_of_the_defence_has_a_device_that_draws_for_own_records(plan: Plan) -> None:
    plain = trial(plan, "samples-s0.noisy.members.unaware.b90")
    aware = trial(plan, "samples-s0.noisy.members.aware.b90")
    assert (plain.needs.probes, plain.needs.asked) == ({}, {"own": 0})
    assert aware.needs.asked == {"own": 60}  # there are no more
    assert plain.needs.streams == aware.needs.streams == ["samples-s0.noisy.u0"]
    [stream], [probe] = (
        [each for each in planned if each.id in asked]
        for planned, asked in ((plan.streams, plain.needs.streams), (plan.probes, aware.needs.probes["own"]))
    )
    assert [next(iter(link)) for link in stream.local.spec()] == ["pass", "gaussian-input"]
    assert probe.local.spec() == stream.local.spec()
    assert sum(span.stop - span.start for span in probe.spans) == 60


def test_a_release_that_is_no_sample_cannot_be_attacked() -> None:
    [mistake] = mistakes_of(TEXT.replace("release: sample", "release: logits"))
    assert "releases logits, the attack reads sample" in mistake["message"]
