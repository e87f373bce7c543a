"""What every ready scenario has made is found again by later versions: its names do not change unmeant."""

from __future__ import annotations

import pytest
import yaml

from leakrange.scenario.shipped import shipped
from tests.scenario.identities import WRITTEN, identities, planned, short

NAMES = yaml.safe_load(WRITTEN.read_text())


def test_the_names_of_every_ready_scenario_are_written_down() -> None:
    assert set(NAMES) == set(shipped())


@pytest.mark.parametrize("scenario", list(shipped()))
def test_a_scenario_names_its_results_as_before(scenario: str) -> None:
    """Where a change is meant, raise the version of what gives other results, and write the names anew."""
    assert short(identities(planned(shipped()[scenario].text))) == NAMES[scenario]


def test_names_tell_two_plans_apart() -> None:
    text = shipped()["demo"].text
    assert "seeds: [0, 1]" in text
    before, after = (short(identities(planned(each))) for each in (text, text.replace("[0, 1]", "[0, 2]")))
    assert before.keys() == after.keys()
    assert all(before[category] != after[category] for category in before)
