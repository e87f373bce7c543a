"""The scenarios by which each attack's cost is measured."""

from __future__ import annotations

import pytest

from leakrange.attacks import attacks
from leakrange.load.bench.attacks import CONTROLS, scenario
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand

EVERY = [name for name in attacks if name not in CONTROLS]


@pytest.mark.parametrize("attack", EVERY)
def test_each_attack_is_tried_once_at_its_defaults_on_a_model_that_was_trained_before(attack: str) -> None:
    first, measured = (expand(parse(scenario(attack, 3, trains=each))) for each in (True, False))
    [trial] = measured.trials
    parameters = attacks[attack].Parameters
    needed = {
        name: trial.parameters[name] for name, each in parameters.model_fields.items() if each.is_required()
    }
    defaults = parameters.model_validate(needed).model_dump(mode="json")
    left = {
        name: value for name, value in defaults.items() if value is not None
    }  # None: as the provider has it
    assert trial.parameters | left == trial.parameters
    assert [model.id for model in first.models] == [model.id for model in measured.models]


@pytest.mark.parametrize(("attack", "models"), [("lira", 16), ("kl-test", 64)])
def test_no_attack_finds_the_shadow_models_of_another(attack: str, models: int) -> None:
    plans = [expand(parse(scenario(attack, place))) for place in (3, 4)]
    shadows = [{each.recipe.digest() for each in plan.shadows} for plan in plans]
    assert [len(each) for each in shadows] == [models, models]
    assert not shadows[0] & shadows[1]
