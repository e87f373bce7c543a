"""Providers that hide several attributes: one trial for each, from the same uploads and answers."""

from __future__ import annotations

import pytest

from leakrange.scenario import bounds
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from tests.scenario.planned import NAMES, asked
from tests.scenario.test_language import mistakes_of

TEXT = """\
name: several
seeds: 0
data: digits
providers:
  honest: {target: parity, sensitive: [large, loop]}
  raw: {behaviour: curious, method: parameterized, target: parity, sensitive: [large, loop]}
clients: {phones: {samples: 64}}
attacks:
  inside: {kind: curious-decoder}
  outside: {kind: attribute-inference, auxiliary: 100, knowledge: aware}
budgets: 100
"""


def told(plan: Plan) -> dict[str, str]:
    return {trial.result.id: trial.result.sensitive for trial in plan.trials}


def test_each_hidden_attribute_has_a_trial_and_all_share_what_is_asked() -> None:
    plan = expand(parse(TEXT))
    assert told(plan) == {
        "honest-s0.none.outside.aware.b100.large": "large",
        "honest-s0.none.outside.aware.b100.loop": "loop",
        "raw-s0.none.inside.unaware.b100.large": "large",
        "raw-s0.none.inside.unaware.b100.loop": "loop",
        "raw-s0.none.outside.aware.b100.large": "large",
        "raw-s0.none.outside.aware.b100.loop": "loop",
    }
    outside = [trial for trial in plan.trials if trial.result.attack == "outside"]
    assert [trial.parameters["sensitive"] for trial in outside] == ["large", "loop"] * 2
    assert {asked(trial) for trial in outside} == {100}
    assert [model.recipe.parameters.get("sensitive") for model in plan.models] == [None, ["large", "loop"]]
    assert [probe.id for probe in plan.probes] == ["honest-s0.none.q0", "raw-s0.none.q0"]
    assert [stream.id for stream in plan.streams] == ["honest-s0.none.u0", "raw-s0.none.u0"]
    trials = [trial.model_dump(mode="json") for trial in plan.trials]
    assert Plan.stored(plan.dumped(), trials) == plan


def test_a_scenario_with_several_means_the_same_again() -> None:
    scenario = parse(TEXT.replace("auxiliary: 100", "auxiliary: 100, sensitive: [loop, large]"))
    assert parse(scenario.model_dump(mode="json")) == scenario
    again = expand(parse(scenario.model_dump_json()))
    assert again == expand(scenario)
    assert [name for name in told(again) if "outside" in name][:2] == [
        "honest-s0.none.outside.aware.b100.loop",
        "honest-s0.none.outside.aware.b100.large",
    ]


def test_a_list_of_one_is_the_name_itself() -> None:
    one = TEXT.replace("[large, loop]", "large").replace("auxiliary: 100", "auxiliary: 100, sensitive: loop")
    listed = one.replace("sensitive: l", "sensitive: [l").replace("large}", "large]}")
    listed = listed.replace("loop, know", "loop], know")
    assert "[large]" in listed
    assert "[loop]" in listed
    assert expand(parse(listed)) == expand(parse(one))
    assert set(told(expand(parse(one)))) == {
        "honest-s0.none.outside.aware.b100",
        "raw-s0.none.inside.unaware.b100",
        "raw-s0.none.outside.aware.b100",
    }


def test_several_targets_are_asked_in_one_model() -> None:
    plan = expand(parse(TEXT.replace("target: parity", "target: [parity, slant]")))
    assert {trial.result.target for trial in plan.trials} == {"parity, slant"}
    assert len(plan.trials) == 6
    assert set(plan.classes["digits"]) == {"parity", "slant", "large", "loop"}
    honest, raw = plan.models
    assert honest.recipe.parameters["target"] == raw.recipe.parameters["target"] == ["parity", "slant"]
    assert honest.served_as(NAMES).startswith("digits-parity-slant-logits-")


def test_an_attack_on_something_else_is_tried_once() -> None:
    data = "data: {name: digits, subset: {pool: 400}}"
    inside = "  inside: {kind: loss-threshold}\n"
    text = TEXT.replace("data: digits", data).replace("  inside: {kind: curious-decoder}\n", inside)
    plan = expand(parse(text.replace("budgets: 100", "budgets: 1000")))
    assert [name for name, hidden in told(plan).items() if hidden == "membership"] == [
        "honest-s0.none.inside.unaware.b1000",
        "raw-s0.none.inside.unaware.b1000",
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "path", "said"),
    [
        (
            "{target: parity, sensitive: [large, loop]}",
            "{target: parity, sensitive: [large, lop]}",
            5,
            "providers.honest.sensitive[1]",
            "the data has no attribute 'lop' (did you mean 'loop'?)",
        ),
        (
            "{target: parity, sensitive: [large, loop]}",
            "{target: parity, sensitive: [loop, large, loop]}",
            5,
            "providers.honest.sensitive",
            "'loop' is named twice",
        ),
        (
            "{target: parity, sensitive: [large, loop]}",
            "{target: parity, sensitive: [large, parity]}",
            5,
            "providers.honest.sensitive[1]",
            "'parity' is what the provider is asked for: it hides nothing",
        ),
        (
            "{target: parity, sensitive: [large, loop]}",
            "{target: parity, sensitive: [large, 7]}",
            5,
            "providers.honest.sensitive",
            "should be a name, or a list of names, not a list",
        ),
        (
            "parameterized",
            "regularized",
            6,
            "providers.raw.sensitive",
            "behaviour 'curious/regularized' takes one attribute for sensitive, not 2; several take "
            "curious/parameterized",
        ),
        (
            "auxiliary: 100",
            "auxiliary: 100, sensitive: [loop, lage]",
            10,
            "attacks.outside.sensitive",
            "no provider's data has an attribute 'lage' (did you mean 'large'?)",
        ),
        (
            "auxiliary: 100",
            "auxiliary: 100, sensitive: [loop, loop]",
            10,
            "attacks.outside.sensitive",
            "'loop' is named twice",
        ),
        (
            "auxiliary: 100",
            "auxiliary: 100, sensitive: []",
            10,
            "attacks.outside.sensitive",
            "should be a name, or a list of names, not a list",
        ),
        (
            "auxiliary: 100",
            "auxiliary: 100, sensitive: [loop, parity]",
            10,
            "attacks.outside",
            "the attack can be tried on no provider (honest: 'parity' is what it is asked for; "
            "raw: 'parity' is what it is asked for)",
        ),
    ],
)
def test_what_cannot_be_hidden_is_told_in_its_place(
    old: str, new: str, line: int, path: str, said: str
) -> None:
    assert old in TEXT
    [mistake] = mistakes_of(TEXT.replace(old, new))
    assert mistake["message"] == said
    assert mistake["path"] == path
    assert mistake["line"] == line


SERVED = """\
name: served
seeds: 0
data: {name: synthpeople, auxiliary: 0, crowd: {people: 20, images: 6, public: 20, students: 5}}
providers:
  one: {target: [identity, person], service: features}
attacks: {found: {kind: class-based}}
"""


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        (
            TEXT.replace("parameterized, target: parity", "mixture, target: [parity, slant]").replace(
                "curious, method: mixture, target: [parity, slant], sensitive: [large, loop]",
                "curious, method: mixture, target: [parity, slant], sensitive: loop",
            ),
            "providers.raw.target",
            "takes one attribute for target, not 2; several take curious/parameterized, honest",
        ),
        (
            TEXT.replace("target: parity", "target: [parity, slant]")
            .replace("data: digits", "data: {name: digits, subset: {pool: 400}}")
            .replace("curious-decoder}", "loss-threshold}"),
            "attacks.inside",
            "it is asked for several attributes, and the attack reads how sure it is of one",
        ),
        (
            TEXT.replace("target: parity", "release: softmax, target: [parity, slant]").replace(
                "curious-decoder}", "distillation}"
            ),
            "attacks.inside",
            "it is asked for several attributes, and a student learns one",
        ),
        (
            TEXT.replace("target: parity, sensitive: [large", "target: [slant, large], sensitive: [large", 1),
            "providers.honest.sensitive[0]",
            "'large' is what the provider is asked for: it hides nothing",
        ),
        (SERVED, "providers.one.service", "a service stands before a model with one target"),
    ],
)
def test_who_cannot_do_with_several_targets_says_so(text: str, path: str, said: str) -> None:
    [mistake] = [each for each in mistakes_of(text) if each["path"] == path]
    assert said in mistake["message"]


def test_the_trials_of_all_attributes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_TRIALS", 20_000)
    seeds = f"seeds: [{', '.join(map(str, range(100)))}]"
    budgets = f"budgets: [{', '.join(map(str, range(100, 100 + 20_000 // 600 + 1)))}]"
    text = TEXT.replace("seeds: 0", seeds).replace("budgets: 100", budgets)
    found = mistakes_of(text)
    assert any("trials, at most 20,000" in mistake["message"] for mistake in found)
    parse(text.replace("[large, loop]", "loop"))
