"""Plans in which answers behind a defence are made from stored ones: what is asked, and what is replayed."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.scenario.document import Scenario
from leakrange.scenario.forecast import outlook
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario
from tests.scenario.test_remote import text

DEFENCES = {"none": [], "rounded": [{"round": {"decimals": 1}}], "noisy": [{"gaussian-input": 60.0}]}


def scenario(**more: Any) -> Scenario:
    return parse(text({}, seeds=[0], defences=DEFENCES, budgets=[20, 150], **more))


def planned(**more: Any) -> Plan:
    return expand(scenario(**more))


def test_only_what_the_proxy_alone_does_is_replayed() -> None:
    plan = planned(replay=True)
    names = {model.id for model in plan.models}
    [model] = names
    replayed = {each.id: each.replays for each in (*plan.streams, *plan.probes) if each.replays}
    assert replayed == {
        f"{model}.rounded.u0": f"{model}.none.u0",
        f"{model}.rounded.q0": f"{model}.none.q0",
    }
    spans = {each.id: each.spans for each in (*plan.streams, *plan.probes)}
    for name, stands_for in replayed.items():
        assert spans[name] == spans[stands_for]
    steps = plan.steps()
    assert steps["replay"] == len(spans[f"{model}.rounded.u0"]) + len(spans[f"{model}.rounded.q0"])


def test_a_forecast_counts_what_is_asked_alone() -> None:
    asked, replayed = outlook(scenario()), outlook(scenario(replay=True))
    assert (asked.trials, 2 * asked.asked) == (replayed.trials, 3 * replayed.asked)
    assert asked.uploads == 3 * replayed.uploads // 2


def test_a_plan_without_replays_is_written_as_before() -> None:
    plan = planned()
    assert "replay" not in repr(plan.dumped())
    assert "replay" not in parse(text({}, seeds=[0])).model_dump(mode="json")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"load": {"users": {"honest": 1, "attribute": 2}}}, "a replay asks nobody"),
        ({"providers": {"ours": {"behaviour": "honest", "target": "y", "sensitive": "s"}}}, "there is none"),
    ],
)
def test_a_replay_that_cannot_be_is_a_mistake(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(text({}, replay=True, **changes))
    assert any(words in mistake["message"] for mistake in refused.value.mistakes), refused.value.mistakes
