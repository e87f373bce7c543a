"""Trying it as a visitor where nothing is trained, and with what is no sample."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.services.controller.victim.demonstration import demonstrations
from tests.controller.conftest import Api


def test_where_nothing_is_trained_visitors_are_told_what_to_start(api: Api) -> None:
    view = api.get("/v1/try")
    assert (view["run"], view["scenario"], view["offered"]) == (None, "victim", [])
    answer = api.ask("POST", "/v1/try", json={"data": "digits", "place": 0})
    assert answer.status_code == 404
    assert answer.json()["type"].endswith("/nothing-to-try")
    assert "scenarios/victim.yaml" in answer.json()["hint"]


def test_a_run_that_is_not_done_cannot_be_tried(api: Api) -> None:
    run = api.start()
    answer = api.ask("GET", f"/v1/try?run={run}")
    assert answer.status_code == 404
    assert answer.json()["hint"] == "its models can be tried when it is done"
    api.cancel(run)
    assert api.ask("GET", "/v1/try?run=unknown").status_code == 404


@pytest.mark.parametrize(("data", "offered"), [("synthfaces", 1), ("utkface", 0)])
def test_faces_of_people_are_not_offered_to_visitors(data: str, offered: int) -> None:
    target, sensitive = ("hair", "glasses") if offered else ("gender", "race-2")
    provider = {"behaviour": "curious", "method": "parameterized", "release": "logits"}
    scenario = {
        "name": "faces",
        "seeds": [0],
        "data": {"name": data, "size": 32},
        "providers": {"curious": {**provider, "target": target, "sensitive": sensitive}},
        "clients": {"phones": {"kind": "edge", "count": 2, "samples": 40}},
        "attacks": {"inside": {"kind": "curious-decoder"}},
        "budgets": [40],
    }

    def sizes(spec: DataSpec) -> dict[str, int]:
        return {"train": 100, "held-out": 0, "validation": 50, "auxiliary": 60, "test": 60}

    assert len(demonstrations("a-run", expand(parse(yaml.safe_dump(scenario)), sizes))) == offered


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": "digits"},
        {"data": "digits", "place": 1, "drawing": "AAAA"},
        {"data": "digits", "place": -1},
        {"data": "digits", "place": 0, "digit": 10},
        {"data": "digits", "drawing": "A" * 400_001},
        {"data": "digits", "place": 0, "run": "../x"},
        {"data": "digits", "place": 0, "more": 1},
    ],
)
def test_what_is_no_try_is_refused(api: Api, body: dict[str, Any]) -> None:
    assert api.ask("POST", "/v1/try", json=body).status_code == 422
