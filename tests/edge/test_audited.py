"""A device that uses audited models alone: it audits what it has downloaded itself, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from leakrange.jobs.audit import AuditPlan, ViciousnessSettings
from leakrange.jobs.recipe import DataSpec
from tests.audit.digits import DIGITS, save_digits
from tests.edge.conftest import KEY, OPERATOR, deploy, edge_app
from tests.edge.test_edge import problem
from tests.serving import serving

MOVED = AuditPlan(data=DIGITS, labelled=60, test=100, viciousness=ViciousnessSettings(rounds=2, lr=1e-3))
UNMOVED = MOVED.model_copy(update={"viciousness": ViciousnessSettings(rounds=1, lr=1e-9)})
SPAN = {"data": DIGITS.model_dump(mode="json"), "split": "test", "start": 0, "stop": 7}


@pytest.fixture(scope="module")
def served(provider: httpx.Client, models_dir: Path) -> str:
    """The URL of a provider which serves a model of digits."""
    deploy(provider, "digits", save_digits(models_dir))
    return str(provider.base_url).rstrip("/")


def enrol(edge: httpx.Client, url: str, plan: AuditPlan | None) -> httpx.Response:
    body: dict[str, Any] = {"url": url, "model": "digits"}
    if plan is not None:
        body["audit"] = plan.model_dump(mode="json")
    return edge.post("/v1/enrolments", json=body, headers=OPERATOR)


def decide(edge: httpx.Client) -> httpx.Response:
    image = {"inputs": [[[[0]] * 16] * 16]}
    return edge.post("/v1/models/digits/decisions", json=image, headers=OPERATOR)


@pytest.fixture
def fresh() -> Iterator[httpx.Client]:
    with serving(edge_app()) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


def test_a_model_that_does_not_pass_is_not_enrolled(fresh: httpx.Client, served: str) -> None:
    body = problem(enrol(fresh, served, MOVED), 403, "suspicious-model")
    assert "v = 0." in body["detail"]
    assert "the threshold is 0.01" in body["detail"]
    found = {each["test"]: each for each in body["findings"]}
    assert found["viciousness"]["score"] > found["viciousness"]["threshold"] == 0.01
    problem(decide(fresh), 404, "unknown-model")
    assert enrol(fresh, served, UNMOVED).status_code == 200
    assert decide(fresh).status_code == 200


def test_a_session_of_a_model_that_does_not_pass_is_not_played(fresh: httpx.Client, served: str) -> None:
    session = {"url": served, "api_key": "lr_user", "model": "digits", "release": "logits", "span": SPAN}
    refused = session | {"upload": "one", "audit": MOVED.model_dump(mode="json")}
    for _ in range(2):
        answer = fresh.post("/v1/sessions", json=refused, headers=OPERATOR)
        problem(answer, 403, "suspicious-model")
    played = session | {"upload": "two", "audit": UNMOVED.model_dump(mode="json")}
    assert fresh.post("/v1/sessions", json=played, headers=OPERATOR).json()["samples"] == 7


def test_no_request_lowers_what_a_device_demands(served: str) -> None:
    with serving(edge_app(audit=MOVED)) as url, httpx.Client(base_url=url, timeout=120) as strict:
        for plan in (None, UNMOVED):
            problem(enrol(strict, served, plan), 403, "suspicious-model")


def test_a_model_that_cannot_be_audited_is_not_enrolled(fresh: httpx.Client, served: str) -> None:
    faces = MOVED.model_copy(update={"data": DataSpec(name="synthfaces", size=16, count=100)})
    body = problem(enrol(fresh, served, faces), 422, "invalid-input")
    assert "no labels of 'digit'" in body["detail"]


def test_the_plan_of_a_device_comes_from_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from leakrange.clients.edge.settings import EdgeSettings

    monkeypatch.setenv("LEAKRANGE_AUDIT", MOVED.model_dump_json())
    assert EdgeSettings(operator_key=KEY).audit == MOVED
