"""What a scenario plans for attacks that reconstruct samples, and why one does not apply."""

from __future__ import annotations

from collections import Counter

import pytest

from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario
from tests.scenario.planned import asked, probed, trial

TEXT = """\
name: reconstruction
seeds: [0]
data: {name: digits, size: 16}
net: {name: strided-conv}
providers:
  honest: {target: digit}
  curious: {behaviour: curious, method: parameterized, target: parity, sensitive: large}
  vicious: {behaviour: vicious, target: digit, beta: {c: 1, r: 5}}
  several: {behaviour: vicious, target: [parity, large, digit], release: softmax}
clients: {phones: {count: 7, samples: 40}}
defences:
  none: []
  rounded: [round: {decimals: 1}]
  noisy: [noise: {scale: 0.5}]
  label-only: [argmax]
attacks:
  inside: {kind: vicious-decoder}
  outside: {kind: reconstruction, auxiliary: 150, repeats: 4}
  adaptive: {kind: reconstruction, records: train, providers: vicious, auxiliary: 700, knowledge: aware}
budgets: [100, 400]
"""


def sizes(spec: DataSpec) -> dict[str, int]:
    return {"train": 600, "validation": 100, "auxiliary": 120, "test": 359}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT), sizes)


def test_who_was_trained_to_reconstruct_does_and_everybody_is_attacked_from_outside(plan: Plan) -> None:
    cells = Counter((t.result.provider, t.result.attack) for t in plan.trials if t.result.budget == 100)
    outside = 1 + 2 + 2 + 2  # nobody averages with a hundred answers: 25 records are too few
    assert cells == {
        **{(name, "outside"): outside for name in ("honest", "curious", "vicious", "several")},
        **{(name, "inside"): 4 for name in ("vicious", "several")},
        ("vicious", "adaptive"): 4,
    }
    assert {(t.result.kind, t.result.sensitive) for t in plan.trials} == {
        ("reconstruction-decoder", "sample"),
        ("reconstruction", "sample"),
    }
    assert plan.classes["digits"]["sample"] == []


def test_the_adaptive_attacker_learns_from_defended_answers_about_what_the_model_learned(plan: Plan) -> None:
    adaptive = trial(plan, "vicious-s0.noisy.adaptive.aware.b400")
    assert asked(adaptive) == 400
    (probe,) = (each for each in plan.probes if each.id == probed(adaptive)[0])
    assert (probe.defence, {span.split for span in probe.spans}) == ("noisy", {"train"})
    unaware = trial(plan, "vicious-s0.noisy.outside.unaware.b400")
    (probe,) = (each for each in plan.probes if each.id == probed(unaware)[0])
    assert (probe.defence, {span.split for span in probe.spans}) == ("none", {"auxiliary"})
    averaging = trial(plan, "vicious-s0.noisy.outside.averaging.b400")
    assert (asked(averaging), len(probed(averaging)), len(averaging.needs.streams)) == (100, 4, 4)


def test_a_trial_knows_the_policy_and_how_many_releases_of_a_sample_there_are(plan: Plan) -> None:
    """By which the bits that these can carry are bounded."""

    def known(name: str) -> tuple[list[str], int]:
        needs = trial(plan, name).needs
        return [next(iter(stage)) for stage in needs.asked["policy"]], len(needs.streams)

    assert known("vicious-s0.label-only.inside.unaware.b100") == (["argmax"], 1)
    assert known("several-s0.noisy.outside.aware.b400") == (["noise"], 1)
    assert known("several-s0.noisy.outside.averaging.b400") == (["noise"], 4)
    assert known("honest-s0.label-only.outside.averaging.b400") == (["argmax"], 1)
    assert known("vicious-s0.noisy.outside.unaware.b400") == (["noise"], 1)


def test_a_copy_answers_for_more_of_the_attackers_own_samples_and_nobody_is_asked_more() -> None:
    text = TEXT.replace("auxiliary: 150, repeats: 4", "auxiliary: 150, repeats: 4, unasked: 50")
    plan = expand(parse(text), sizes)
    some, all_asked = (trial(plan, f"honest-s0.none.outside.unaware.b{budget}") for budget in (100, 400))
    assert asked(some) == 100
    span = some.needs.asked["unasked"]
    assert (span["split"], span["start"], span["stop"]) == ("auxiliary", 100, 120)  # there are no more
    assert "unasked" not in all_asked.needs.asked
    with_features = text.replace("digit, beta: {c: 1, r: 5}", "digit, beta: {c: 1, r: 5}, release: features")
    assert "a copy of the model answers with scores, and the provider gives features" in said(
        with_features.replace("unasked: 50", "unasked: 50, providers: [vicious, honest]")
    )


def said(text: str) -> str:
    with pytest.raises(InvalidScenario) as caught:
        expand(parse(text), sizes)
    return str([each["message"] for each in caught.value.mistakes])


def test_why_an_attack_does_not_apply_is_told() -> None:
    base = TEXT.replace("providers: vicious, ", "")
    named = base.replace("vicious-decoder}", "vicious-decoder, providers: [vicious, curious]}")
    assert "cannot be tried on 'curious': its decoder, if it has one, reads no samples" in said(named)
    assert "no budget of 10, 40 samples buys this attack enough records" in said(
        base.replace("100, 400", "10, 40")
    )
    unknown = base.replace("repeats: 4", "decoder: {name: strided}")
    assert "unknown net G 'strided'; there are strided-conv, wide-resnet" in said(unknown)
    assert "sides of 16, 24, 32" in said(base.replace("size: 16", "size: 20"))


def test_tables_have_no_pictures() -> None:
    text = """\
name: rows
data: adult
net: mlp
providers: {honest: {target: income}}
attacks: {outside: {kind: reconstruction}}
"""
    assert "its samples are no pictures, but of the encoding 'table'" in said(text)


def test_to_a_service_nobody_uploads_and_nothing_is_hidden_behind_it() -> None:
    text = """\
name: services
data: {name: synthpeople, size: 64, crowd: {}}
providers: {service: {BEHAVIOUR: 1, target: person, service: features}}
attacks: {outside: {kind: reconstruction}}
"""
    assert "it is a features service, to which nobody uploads" in said(text.replace("BEHAVIOUR: 1, ", ""))
    assert "its provider has nothing to decode" in said(text.replace("BEHAVIOUR: 1", "behaviour: vicious"))
