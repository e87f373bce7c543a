"""The commands against a standing range, and without one: what they print and how they end."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import httpx
import pytest
import yaml

from leakrange.clients.cli.embedded.ports import check_base, names
from leakrange.clients.cli.exits import CliError
from tests.embedded import EmbeddedRange, leakrange
from tests.scenario import test_remote as remote

MISTAKEN = """\
name: five mistakes
seeds: [0, -1]
data: {name: digitz}
providers:
  honest: {behaviour: honst, target: parity}
attacks:
  inside: {kind: curious-decodr}
"""


@pytest.fixture
def mistaken(tmp_path: Path) -> Path:
    path = tmp_path / "mistaken.yaml"
    path.write_text(MISTAKEN)
    return path


def test_every_command_without_a_range_says_how_to_get_one(tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text("name: any")
    for command in (
        ["status"],
        ["runs"],
        ["run", str(scenario)],
        ["models", "list"],
        ["report", "some-run"],
        ["cancel", "some-run"],
        ["keys", "create", "me", "--budget", "1"],
        ["policies", "list"],
        ["targets", "show", "risk"],
    ):
        done = leakrange(*command, "--state", str(tmp_path / "none"))
        assert done.returncode == 3, command
        assert "leakrange up" in done.stderr, command
        assert "Traceback" not in done.stderr, command


def test_an_address_where_nobody_answers_ends_with_3() -> None:
    done = leakrange("runs", LEAKRANGE_URL="http://127.0.0.1:9")
    assert done.returncode == 3
    assert "no answer from http://127.0.0.1:9" in done.stderr


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:8700", "ftp://range", "http://", "http://[::1"])
def test_what_is_no_address_is_said_to_be_none(address: str) -> None:
    for done in (leakrange("runs", "--url", address), leakrange("runs", LEAKRANGE_URL=address)):
        assert done.returncode == 2
        assert f"{address}: this is no address of a server" in done.stderr
        assert "http://127.0.0.1:8700" in done.stderr
    assert "--url" in leakrange("runs", "--url", address).stderr


@pytest.mark.parametrize(
    "command", [["up"], ["up", "--detach"], ["status"], ["down"], ["runs"], ["reproduce", "faceleaks"]]
)
def test_a_file_in_the_place_of_the_state_folder_is_named(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("mine")
    store = ["--store", str(tmp_path / "store"), "--quick"] if command[0] == "reproduce" else []
    done = leakrange(*command, *store, "--state", str(path))
    assert done.returncode == 2
    assert f"{path} is no folder" in done.stderr
    assert path.read_text() == "mine"


def test_ports_that_there_are_not_are_told_before_anything_is_made(tmp_path: Path) -> None:
    for mode in ([], ["--detach"]):
        done = leakrange("up", *mode, "--ports", "99999", "--state", str(tmp_path / "state"))
        assert done.returncode == 2
        assert "--ports 99999" in done.stderr
        assert "1024 to 65527" in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("base", "can_be"), [(0, True), (1024, True), (65527, True), (65528, False), (-1, False)]
)
def test_eight_ports_must_fit(base: int, can_be: bool) -> None:
    with nullcontext() if can_be else pytest.raises(CliError):
        check_base(base)


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["run"], ["up", "--ports", "many"], ["keys", "create", "me"]]
)
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    assert leakrange(*arguments).returncode == 2


def test_data_list_needs_no_range_and_says_why_a_set_is_not_there() -> None:
    done = leakrange("data", "list", "--json")
    assert done.returncode == 0
    sets = {entry["name"]: entry for entry in json.loads(done.stdout)}
    assert sets["digits"]["unavailable"] is None
    assert sets["digits"]["attributes"]["digit"] == 10
    assert "LEAKRANGE_DATA" in sets["utkface"]["unavailable"]
    table = leakrange("data", "list").stdout
    assert all(name in table for name in sets)


def test_a_scenario_may_name_the_file_of_a_target(tmp_path: Path) -> None:
    """Its content stands on the line of the name: mistakes below are told by their own lines."""
    endpoint = remote.ENDPOINT | {"headers": {"X-Key": "${RISK_KEY}"}}
    (tmp_path / "risk.yaml").write_text(yaml.safe_dump(endpoint))
    lines = [
        "name: named",
        "data: {name: quadrants, count: 1000, auxiliary: 0.4}",
        "providers:",
        "  risk: {behaviour: remote, target: y, sensitive: s, endpoint: risk.yaml}",
        "attacks: {outside: {kind: attribute-inference, knowledge: aware}}",
        "budgets: [100]",
    ]
    file = tmp_path / "scenario.yaml"
    file.write_text("\n".join(lines))
    assert "named, 0 models to train, 3 trials" in leakrange("scenario", "check", str(file)).stderr
    file.write_text("\n".join([*lines, "seeds: nonsense"]))
    assert f"{file}:7:8: seeds" in leakrange("scenario", "check", str(file)).stderr
    file.write_text("\n".join(lines).replace("risk.yaml", "other.yaml"))
    missing = leakrange("scenario", "check", str(file))
    assert missing.returncode == 2
    assert f"{file}:4:64: the target {tmp_path / 'other.yaml'} cannot be read" in missing.stderr


def test_ready_scenarios_are_listed_and_taken_by_name_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = json.loads(leakrange("scenario", "list", "--json").stdout)
    names = [each["name"] for each in listed]
    assert names[0] == "demo"
    assert {"membership", "extraction"} <= set(names)
    assert all(each["summary"] for each in listed)
    by_name = json.loads(leakrange("scenario", "check", "demo", "--json").stdout)
    assert (by_name["name"], by_name["trials"]) == ("demo", 212)
    mistyped = leakrange("scenario", "check", "demi")
    assert (mistyped.returncode, "did you mean 'demo'?" in mistyped.stderr) == (2, True)
    (tmp_path / "demo").write_text("name: mine")  # a file of the user's own comes first
    assert "'providers' is missing" in leakrange("scenario", "check", "demo").stderr


def test_scenario_check_points_at_every_mistake(mistaken: Path) -> None:
    done = leakrange("scenario", "check", str(mistaken))
    assert done.returncode == 2
    for place in ("1:7", "2:12", "3:14", "5:23", "7:18"):
        assert f"{mistaken}:{place}: " in done.stderr, done.stderr
    assert "did you mean 'digits'?" in done.stderr
    found = json.loads(leakrange("scenario", "check", str(mistaken), "--json").stdout)
    assert found["valid"] is False
    assert len(found["mistakes"]) == 5


def test_the_schema_is_json(tmp_path: Path) -> None:
    schema = json.loads(leakrange("scenario", "schema").stdout)
    assert {"providers", "attacks", "defences"} <= schema["properties"].keys()


def test_a_mistaken_scenario_is_refused_by_the_range_with_the_same_places(
    embedded_range: EmbeddedRange, mistaken: Path
) -> None:
    before = embedded_range("runs", "--json").stdout
    done = embedded_range("run", str(mistaken))
    assert done.returncode == 2
    assert f"{mistaken}:5:23: " in done.stderr
    assert embedded_range("runs", "--json").stdout == before


def test_mistakes_are_json_for_programs(embedded_range: EmbeddedRange, mistaken: Path) -> None:
    done = embedded_range("run", str(mistaken), "--json")
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert told["valid"] is False
    data = {"LEAKRANGE_DATA": str(embedded_range.data)}
    assert told == json.loads(leakrange("scenario", "check", str(mistaken), "--json", **data).stdout)


def test_a_budget_that_cannot_be_is_named(embedded_range: EmbeddedRange) -> None:
    done = embedded_range("keys", "create", "me", "--budget", "1" + "0" * 18)
    assert done.returncode == 2
    assert "budget: Input should be" in done.stderr


def test_status_tells_of_every_party(embedded_range: EmbeddedRange) -> None:
    done = embedded_range("status", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    workers = {"attacker-1", "trainer"}
    assert {party["party"] for party in shown["parties"]} == {*names(), *workers}
    assert all(party["ready"] for party in shown["parties"])
    assert httpx.get(shown["controller"] + "/healthz").json()["party"] == "controller"
    table = embedded_range("status").stdout
    assert all(str(party["pid"]) in table for party in shown["parties"])


def test_a_made_key_opens_the_proxy_and_has_its_budget(embedded_range: EmbeddedRange) -> None:
    done = embedded_range("keys", "create", "an app", "--budget", "7", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["budget"] == 7
    models = embedded_range.record.proxy + "/v1/models"
    assert httpx.get(models, headers={"Authorization": f"Bearer {made['key']}"}).status_code == 200
    assert httpx.get(models, headers={"Authorization": "Bearer lr_wrong"}).status_code == 401
    plain = embedded_range("keys", "create", "another", "--budget", "7").stdout.strip()
    assert plain.startswith("lr_")
    assert "\n" not in plain  # KEY=$(leakrange keys create ...) works


def test_a_key_is_made_for_models_and_endpoints(embedded_range: EmbeddedRange) -> None:
    many = ("--models", "faces,digits", "--endpoints", "softmax, logits", "--endpoints", "outputs")
    done = embedded_range("keys", "create", "an app", "--budget", "7", "--json", *many)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["models"] == ["digits", "faces"]
    assert made["endpoints"] == ["logits", "outputs", "softmax"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--endpoints", "softmax,logit"), "unknown endpoint 'logit' (did you mean 'logits'?); there are: "),
        (("--endpoints", ""), "unknown endpoint ''"),
        (("--models", "digits,../x"), "'../x' is no model's name"),
    ],
)
def test_mistakes_in_what_a_key_is_for_need_no_range(given: tuple[str, ...], told: str) -> None:
    done = leakrange("keys", "create", "me", "--budget", "1", *given)
    assert done.returncode == 2
    assert f"{given[0]} {given[1]}: {told}" in done.stderr


def test_a_refusal_is_told_with_its_reason_and_ends_with_4(embedded_range: EmbeddedRange) -> None:
    unknown = embedded_range("report", "no-such-run")
    assert unknown.returncode == 4
    assert "no-such-run" in unknown.stderr
    assert embedded_range("cancel", "no-such-run").returncode == 4
    policy = embedded_range("keys", "create", "me", "--budget", "1", "--policy", "no-such-policy")
    assert policy.returncode in (2, 4)
    assert "no-such-policy" in policy.stderr


def test_another_ranges_key_is_refused(embedded_range: EmbeddedRange, tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text("name: any")
    where = {"LEAKRANGE_URL": embedded_range.record.controller}
    none = leakrange("run", str(scenario), **where)
    assert none.returncode == 4
    assert "LEAKRANGE_OPERATOR_KEY" in none.stderr
    wrong = leakrange("run", str(scenario), **where, LEAKRANGE_OPERATOR_KEY="x" * 32)
    assert wrong.returncode == 4
    assert "operator" in wrong.stderr


def test_a_file_that_is_not_there_is_said_so(embedded_range: EmbeddedRange) -> None:
    done = embedded_range("run", "no/such/scenario.yaml")
    assert done.returncode == 2
    assert "no/such/scenario.yaml: No such file" in done.stderr
