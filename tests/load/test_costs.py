"""The scenarios by which each attack's cost is measured."""

from __future__ import annotations

import pytest

from leakrange.attacks import attacks
from leakrange.load.bench.attacks import CONTROLS, SETTINGS, scenario
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan


def trained(plan: Plan, setting: str) -> set[str]:
    """The digests of all that has to be trained for a plan, but the net of one attack on people."""
    shadows = [] if setting == "people" else plan.shadows
    return {each.recipe.digest() for each in [*plan.models, *shadows]}


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_attack_is_tried_once_at_its_defaults_on_models_that_were_trained_before(setting: str) -> None:
    before = expand(parse(scenario(setting)))
    for name in attacks:
        if attacks[name].kind not in SETTINGS[setting]["kinds"]:
            continue
        plan = expand(parse(scenario(setting, name)))
        [trial] = plan.trials
        parameters = attacks[name].Parameters
        given = {
            key: trial.parameters[key] for key, each in parameters.model_fields.items() if each.is_required()
        }
        defaults = parameters.model_validate(given).model_dump(mode="json")
        left = {
            key: value for key, value in defaults.items() if value is not None
        }  # None: as the provider has it
        assert trial.parameters | left == trial.parameters
        assert trained(plan, setting) <= trained(before, setting)


def test_every_attack_has_one_setting() -> None:
    kinds = [kind for parts in SETTINGS.values() for kind in parts["kinds"]]
    assert len(kinds) == len(set(kinds))
    assert {attacks[name].kind for name in attacks if name not in CONTROLS} == set(kinds)
