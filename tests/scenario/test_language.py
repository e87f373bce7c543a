"""A short scenario says everything by its defaults."""

from typing import Any

import pytest

from leakrange.scenario.document import Scenario
from leakrange.scenario.language import parse
from leakrange.wire.errors import InvalidScenario

SHORT = """\
name: short
data: digits
providers:
  curious: {behaviour: curious, method: parameterized, target: parity, sensitive: large}
attacks:
  inside: {kind: curious-decoder}
"""


def mistakes_of(text: str | bytes | dict[str, Any]) -> list[dict[str, Any]]:
    with pytest.raises(InvalidScenario) as caught:
        parse(text)
    assert caught.value.status == 422
    return caught.value.mistakes


def test_a_short_scenario_says_everything_by_its_defaults() -> None:
    scenario = parse(SHORT)
    assert scenario.seeds == [0, 1, 2]
    assert scenario.budgets == [1000]
    assert scenario.defences == {"none": []}
    assert list(scenario.clients) == ["users"]
    curious = scenario.providers["curious"]
    assert (curious.behaviour, curious.data, curious.release) == ("curious/parameterized", "digits", "logits")
    assert (curious.model_extra or {})["beta"] == {"y": 0.7, "s": 0.3, "x": 0.0}
    assert scenario.attacks["inside"].providers == ["curious"]


def test_a_full_scenario_means_the_same_again() -> None:
    scenario = parse(SHORT)
    assert parse(scenario.model_dump(mode="json")) == scenario
    assert parse(scenario.model_dump_json()) == scenario
    assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario


def test_yaml_json_bytes_and_dict_say_the_same() -> None:
    import json

    import yaml

    raw = yaml.safe_load(SHORT)
    assert parse(raw) == parse(json.dumps(raw)) == parse(SHORT.encode()) == parse(SHORT)


def test_a_provider_overrides_single_fields_of_the_shared_schedule() -> None:
    scenario = parse(
        SHORT.replace("data: digits", "data: digits\nschedule: {epochs: 7, lr: 1e-2}").replace(
            "sensitive: large}", "sensitive: large, schedule: {epochs: 3}}"
        )
    )
    schedule = scenario.providers["curious"].schedule
    assert schedule is not None
    assert (schedule.epochs, schedule.lr, schedule.batch) == (3, 0.01, 100)


def test_several_data_sets_by_label() -> None:
    text = """\
name: two
data: {easy: digits, faces: {name: synthfaces, size: 32}}
providers:
  one: {data: easy, target: parity}
  two: {data: faces, target: smile, sensitive: glasses}
attacks:
  outside: {kind: attribute-inference, sensitive: large}
"""
    scenario = parse(text)
    assert scenario.data["easy"].name == "digits"
    # Tried where the attribute is, not where it is not.
    assert scenario.attacks["outside"].providers == ["one"]
    [mistake] = mistakes_of(text.replace("one: {data: easy,", "one: {"))
    assert mistake["allowed"] == ["easy", "faces"]


POINTS = """\
name: points
data: {name: quadrants}
net: {name: linear}
providers:
  mixed: {behaviour: curious, method: mixture, target: y, sensitive: s}
attacks:
  inside: {kind: curious-decoder}
"""


def test_points_have_one_size_and_want_a_net_that_takes_it() -> None:
    assert parse(POINTS).providers["mixed"].release == "softmax"
    [mistake] = mistakes_of(POINTS.replace("quadrants}", "quadrants, size: 16}"))
    assert mistake["path"] == "data.size"
    assert "a vector has no size" in mistake["message"]
    [mistake] = mistakes_of(POINTS.replace("linear", "hbc"))
    assert (mistake["path"], mistake["allowed"]) == ("net.name", ["linear", "mlp", "tappfl-mlp"])
    assert parse(POINTS.replace("net: {name: linear}\n", ""))
    # A mistake elsewhere does not make the net that is named another one.
    [mistake] = mistakes_of(POINTS + "chunk: 500\n")
    assert mistake["path"] == "chunk"


def test_a_mixture_that_cannot_be_is_a_mistake() -> None:
    [mistake] = mistakes_of(POINTS.replace("sensitive: s}", "sensitive: s, beta: {y: 0.5, s: 0.5}}"))
    assert mistake["path"] == "providers.mixed.beta"
    assert "must exceed" in mistake["message"]
    text = POINTS.replace("quadrants", "digits").replace(
        "target: y, sensitive: s", "target: parity, sensitive: digit"
    )
    [mistake] = mistakes_of(text)
    assert mistake["path"] == "providers.mixed.sensitive"
    assert mistake["allowed"] == ["large", "loop", "slant"]
