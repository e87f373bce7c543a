"""``/v1/scenario/check`` and ``/complete``: what editors ask while somebody writes."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from leakrange.load.bench.reads import hostile
from leakrange.scenario.shipped import shipped
from leakrange.scenario.yaml_source import MAX_BYTES
from leakrange.services.controller.scenarios import service
from tests.controller.conftest import SCENARIO, TRIALS, Api, problem

ROOT = Path(__file__).parents[2]


def check(api: Api, text: str | bytes) -> Any:
    answer = api.ask("POST", "/v1/scenario/check", content=text)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_mistakes_are_told_all_at_once_with_their_places(api: Api) -> None:
    found = check(api, SCENARIO.replace("digits", "digit").replace("curious-decoder", "curious-decodr"))
    assert (found["valid"], found["forecast"]) == (False, None)
    first, second = found["mistakes"]
    assert (first["line"], first["column"], first["path"]) == (3, 14, "data.name")
    assert (first["suggestion"], "mnist" in first["allowed"]) == ("digits", True)
    assert (second["line"], second["suggestion"]) == (14, "curious-decoder")


@pytest.mark.parametrize("text", ["", "a: [", "\x00", b"\xff\xfe\xfa", "- 1", "{}", "*a", "a: &a [*a]"])
def test_what_is_no_scenario_has_mistakes(api: Api, text: str | bytes) -> None:
    found = check(api, text)
    assert found["valid"] is False
    assert found["mistakes"]


def test_a_right_one_is_forecast(api: Api) -> None:
    found = check(api, SCENARIO)
    assert (found["valid"], found["mistakes"]) == (True, [])
    told = found["forecast"]
    assert (told["name"], told["trials"], told["models"], told["stored"]) == ("small", TRIALS, 2, 0)
    assert told["uploads"] == 2 * 2 * 32
    assert api.get("/v1/runs?limit=200")["runs"] == []  # nothing was begun


def test_the_demo_is_right(api: Api) -> None:
    assert check(api, shipped()["demo"].text)["forecast"]["trials"] == 212


def test_a_scenario_has_a_size(api: Api) -> None:
    problem(api.ask("POST", "/v1/scenario/check", content="a" * (4 * MAX_BYTES + 1)), 413, "body-too-large")
    asked = {"text": "a" * (MAX_BYTES + 1), "line": 1, "column": 1}
    assert api.ask("POST", "/v1/scenario/complete", json=asked).status_code == 422


def test_completion_proposes_for_the_place_that_is_told(api: Api) -> None:
    text = "data: {name: digits}\nproviders:\n  honest: {target: par"
    found = api.ask("POST", "/v1/scenario/complete", json={"text": text, "line": 3, "column": 23}).json()
    assert found == {
        "line": 3,
        "start": 20,
        "end": 23,
        "proposals": [
            {"insert": "parity", "label": "parity", "kind": "attribute", "note": "whether the digit is odd"}
        ],
    }


@pytest.mark.parametrize("asked", [{"line": 0}, {"column": 0}, {"line": "x"}, {"more": 1}, {"text": None}])
def test_a_place_is_checked(api: Api, asked: dict[str, Any]) -> None:
    whole = {"text": "", "line": 1, "column": 1} | asked
    assert api.ask("POST", "/v1/scenario/complete", json=whole).status_code == 422


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs the `curl` command")
def test_the_documented_commands_do_as_is_said(api: Api) -> None:
    page = (ROOT / "docs" / "editor.md").read_text()
    here = str(api.client.base_url).rstrip("/")
    lines = page.partition("```sh\n")[2].partition("```")[0].replace("http://127.0.0.1:8700", here)
    checked, completed = (
        json.loads(
            subprocess.run([*shlex.split(line), "-s"], cwd=ROOT, check=True, capture_output=True).stdout
        )
        for line in lines.splitlines()
    )
    assert checked["forecast"]["name"] == "demo"
    assert completed["proposals"][0]["insert"] == "digits"


@pytest.mark.parametrize(("limit", "kind"), [("SECONDS", "requests"), ("MEMORY", "data")])
def test_what_takes_too_much_to_check_is_a_mistake(
    api: Api, monkeypatch: pytest.MonkeyPatch, limit: str, kind: str
) -> None:
    monkeypatch.setattr(service, limit, {"SECONDS": 1, "MEMORY": 2**28}[limit])
    [mistake] = check(api, hostile(kind))["mistakes"]
    assert "takes more than" in mistake["message"]
    assert mistake["line"] is None
    assert check(api, shipped()["demo"].text)["valid"]


def test_where_completion_takes_too_much_nothing_is_proposed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [*(f"k{number}: {{a: 1}}" for number in range(9000)), "data: {name: "]
    place = {"text": "\n".join(lines), "line": len(lines), "column": 14}

    def complete() -> Any:
        answer = api.ask("POST", "/v1/scenario/complete", json=place)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert complete()["proposals"]
    monkeypatch.setattr(service, "MEMORY", 2**20)  # many times less than that text takes
    assert not complete()["proposals"]
