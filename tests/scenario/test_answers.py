"""Scenarios that are written from a few answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.data import datasets
from leakrange.scenario.answers import ScenarioAnswers, answer_behaviours, answer_defences, scenario_text
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.wire.errors import InvalidScenario


def answered(**given: Any) -> str:
    return scenario_text(ScenarioAnswers(**given))


def refused(**given: Any) -> list[str]:
    with pytest.raises(InvalidScenario) as caught:
        answered(**given)
    return [each["message"] for each in caught.value.extra["mistakes"]]


def test_the_text_reads_as_if_written_by_hand() -> None:
    text = answered(
        name="who-leans",
        target="digit",
        behaviour="curious/regularized",
        defences=("round", "argmax"),
        budget=400,
        seeds=(3, 1),
    )
    assert text == (
        "# What does a classifier of 'digit' give away of 'slant' (data set digits)?\n"
        "name: who-leans\n"
        "seeds: [3, 1]\n"
        "data: digits\n"
        "providers:\n"
        "  honest: {behaviour: honest, target: digit, sensitive: slant}\n"
        "  regularized: {behaviour: curious, method: regularized, target: digit, sensitive: slant}\n"
        "defences:\n"
        "  none: []\n"
        "  round:\n"
        "  - round: {decimals: 1}\n"
        "  argmax: [argmax]\n"
        "attacks:\n"
        "  outside: {kind: attribute-inference}\n"
        "  inside: {kind: curious-decoder}\n"
        "budgets: [400]\n"
    )


@pytest.mark.parametrize("behaviour", answer_behaviours())
def test_every_behaviour_that_is_offered_makes_trials(behaviour: str) -> None:
    plan = expand(parse(answered(behaviour=behaviour)))
    assert behaviour in {model.recipe.behaviour for model in plan.models}
    assert {trial.result.provider for trial in plan.trials} == {model.provider for model in plan.models}


def test_what_needs_more_than_a_name_is_not_offered() -> None:
    assert {"honest", "vicious", "curious/regularized"} <= set(answer_behaviours())
    assert not {"remote", "honest/private"} & set(answer_behaviours())
    assert {"round", "noise", "argmax"} <= set(answer_defences())
    assert not {"memguard", "match", "clip"} & set(answer_defences())


def test_a_provider_of_whole_samples_needs_no_hidden_attribute() -> None:
    scenario = parse(answered(behaviour="vicious", target="digit", hidden=""))
    assert {attack.kind for attack in scenario.attacks.values()} == {"vicious-decoder"}
    assert scenario.providers["honest"].sensitive is None


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"hidden": "parity"}, "'parity' is what the provider is asked for: it hides nothing"),
        ({"hidden": ""}, "name a hidden attribute: without one, attackers are after nothing here"),
        ({"target": "pariti"}, "the data has no attribute 'pariti' (did you mean 'parity'?)"),
        ({"behaviour": "curious/regularized", "hidden": "digit"}, "'digit' has 10 classes"),
        ({"budget": 3}, "one of 25 does"),
        ({"defences": ("argmex",)}, "unknown defence 'argmex' (did you mean 'argmax'?)"),
        ({"defences": ("memguard",)}, "Field required"),
        ({"name": "a b"}, "should match pattern"),
    ],
)
def test_answers_that_do_not_fit_together_are_refused_with_a_sentence(
    answers: dict[str, Any], sentence: str
) -> None:
    assert any(sentence in each for each in refused(**answers))


@given(st.builds(ScenarioAnswers, data=st.sampled_from(["digits", "synthtable", "x"]) | st.text(max_size=9)))
def test_whatever_is_answered_the_text_means_that_or_is_refused(answers: ScenarioAnswers) -> None:
    try:
        scenario = parse(scenario_text(answers))
    except InvalidScenario:
        return
    assert scenario.name == answers.name
    assert scenario.seeds == list(answers.seeds)
    assert {provider.target for provider in scenario.providers.values()} == {answers.target}
    assert [each.name for each in scenario.data.values()] == [answers.data]


def test_every_pair_of_attributes_of_a_data_set_can_be_asked_about() -> None:
    attributes = datasets["synthtable"].attributes
    for target in attributes:
        for hidden in set(attributes) - {target}:
            assert parse(answered(data="synthtable", target=target, hidden=hidden)).providers["honest"]
