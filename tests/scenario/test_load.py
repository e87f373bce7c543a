"""The section ``load``: which users a scenario may name, and what each of its mistakes says."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from leakrange.scenario.asked_by import roles
from leakrange.scenario.language import parse
from leakrange.scenario.limited import under_limits
from leakrange.scenario.load import LoadSpec
from leakrange.scenario.matrix import expand
from leakrange.scenario.schema import scenario_schema
from tests.scenario.test_language import mistakes_of

OUTSIDE = """\
name: asked
data: {name: digits, size: 16}
providers:
  honest: {behaviour: honest, target: parity, sensitive: large}
attacks:
  outside: {kind: attribute-inference, knowledge: aware}
budgets: [100]
load:
  users: {honest: 2, attribute: 3}
  shape: {kind: spike, seconds: 7, base: 0.5}
"""


def test_defaults_are_filled_in_and_the_json_form_means_the_same() -> None:
    scenario = parse(OUTSIDE)
    assert scenario.load is not None
    assert scenario.load.users == {"honest": 2, "attribute": 3}
    assert scenario.load.peak == 5
    assert (scenario.load.keys, scenario.load.counting, scenario.load.limits) == ([1], "exact", {})
    again = parse(json.loads(scenario.model_dump_json()))
    assert again == scenario


def test_a_scenario_without_the_section_has_no_load() -> None:
    assert parse(OUTSIDE[: OUTSIDE.index("load:")]).load is None


def test_the_schema_knows_the_section() -> None:
    validator = Draft202012Validator(scenario_schema())
    validator.validate(yaml.safe_load(OUTSIDE))
    validator.validate(parse(OUTSIDE).model_dump(mode="json", exclude_none=True))
    wrong = yaml.safe_load(OUTSIDE.replace("attribute: 3", "atribute: 3"))
    assert [next(iter(error.absolute_path)) for error in validator.iter_errors(wrong)] == ["load"]


@pytest.mark.parametrize(
    ("old", "new", "line", "path", "said"),
    [
        ("attribute: 3", "membership: 3", 9, "load.users", "nobody asks for the attack 'outside'"),
        (
            "honest: 2",
            "verification: 2",
            9,
            "load.users.verification",
            "no attack of this scenario is for",
        ),
        ("honest: 2", "botnet: 2", 9, "load.users.botnet", "give 'keys'"),
        ("  shape:", "  keys: 4\n  shape:", 10, "load.keys", "a botnet: add users of that kind"),
        ("kind: spike", "kind: spiky", 10, "load.shape.kind", "is not one of ramp, spike, soak"),
        ("seconds: 7", "seconds: 0", 10, "load.shape.seconds", "greater than 0, not 0"),
        ("base: 0.5", "bas: 0.5", 10, "load.shape.bas", "unknown field 'bas' (did you mean 'base'?)"),
        (
            "attribute: 3",
            "attribute: 0",
            9,
            "load.users.attribute",
            "greater than or equal to 1, not 0",
        ),
        ("  shape:", "  limits: {a: [], b: []}\n  shape:", 10, "load.limits", "two of these are without"),
        ("  shape:", "  keys: [1, 1]\n  shape:", 10, "load.keys", "every number once"),
        (
            "  shape:",
            "  limits: {w: [{kind: window, samples: 9, seconds: 1}]}\n  counting: leased\n  shape:",
            11,
            "load.counting",
            "keys with limits are counted exactly",
        ),
    ],
)
def test_every_mistake_is_told_in_its_line(old: str, new: str, line: int, path: str, said: str) -> None:
    assert old in OUTSIDE
    found = mistakes_of(OUTSIDE.replace(old, new))
    told = [(each["line"], each["path"]) for each in found]
    assert (line, path) in told, found
    assert said in next(each["message"] for each in found if each["path"] == path)


def test_probes_are_for_the_users_of_their_attack() -> None:
    text = (Path(__file__).parents[2] / "scenarios" / "student-services.yaml").read_text()
    found = roles(expand(parse(text + "load: {users: {membership: 1, verification: 1}}\n")))
    by_role: dict[str, set[str]] = {}
    for name, role in found.items():
        by_role.setdefault(role, set()).add(name.split("-")[0])
    assert by_role == {
        "membership": {"features", "recognition"},
        "verification": {"verification"},
        "users": {"features", "recognition", "verification"},
    }


def test_anybody_asks_as_users_do_where_nobody_is_honest() -> None:
    attackers = LoadSpec.model_validate({"users": {"membership": 1, "botnet": 2}, "keys": 2})
    assert attackers.takers("users") == ["membership", "botnet"]
    assert attackers.takers("membership") == ["membership", "botnet"]
    assert attackers.takers("attribute") == ["botnet"]
    mixed = LoadSpec.model_validate({"users": {"membership": 1, "honest": 2}})
    assert mixed.takers("users") == ["honest"]


def test_a_plan_is_asked_once_under_each_alternative_and_users_once() -> None:
    text = (Path(__file__).parents[2] / "scenarios" / "load-people.yaml").read_text()
    limits = "limits: {open: [], slow: [{kind: window, samples: 9, seconds: 1}]}"
    users = f"membership: 10, botnet: 1}}\n  keys: [1, 4]\n  {limits}"
    scenario = parse(text.replace("membership: 10}", users))
    assert scenario.load is not None
    assert [each.name for each in scenario.load.alternatives] == ["", "4keys", "slow", "slow.4keys"]
    plain = expand(scenario)
    plan = under_limits(plain, scenario.load)
    assert len(plan.trials) == len({trial.result.id for trial in plan.trials}) == 4 * len(plain.trials)
    count = {by: len([probe for probe in plain.probes if probe.by == by]) for by in ("attacker", "users")}
    assert len(plan.probes) == 4 * count["attacker"] + count["users"]
    probes = {probe.id: probe for probe in plan.probes}
    for trial in plan.trials:
        for name in (name for own in trial.needs.probes.values() for name in own):
            assert trial.samples[name] == probes[name].spans[-1].stop or probes[name].by == "attacker"
            if probes[name].by == "attacker":
                assert probes[name].defence == trial.result.defence
    policies = {policy.defence: policy for policy in plan.policies}
    assert policies["rounded.slow.4keys"].digest == policies["rounded"].digest != policies["none"].digest
