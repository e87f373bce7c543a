"""Audits over HTTP where nobody can carry them out: what is refused at once, what fails, and what waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import NOWHERE, OPERATOR, Api, problem, serve

PLAN = {"data": {"name": "digits"}, "labelled": 50}
REQUEST = {"model": "some-model", "plan": PLAN}


def post(api: Api, body: Any, **more: Any) -> httpx.Response:
    return api.ask("POST", "/v1/audits", json=body, **{"key": OPERATOR, **more})


def ended(api: Api, audit: str) -> dict[str, Any]:
    while (view := api.get(f"/v1/audits/{audit}"))["state"] == "running":
        time.sleep(0.02)
    found: dict[str, Any] = view
    return found


def test_only_the_operator_has_models_audited(api: Api) -> None:
    problem(post(api, REQUEST, key=None), 401, "unauthenticated")
    problem(post(api, REQUEST, key="another-key-of-somebody-else"), 403, "forbidden")
    problem(api.ask("GET", "/v1/audits/none"), 404, "not-found")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"plan": {"data": {"name": "digitz"}}}, "digitz"),
        ({"plan": PLAN | {"tests": ["curiosity"], "sensitive": "age"}}, "no attribute 'age'"),
        ({"plan": PLAN | {"tests": ["curiosity"]}}, "need each other"),
        ({"plan": PLAN | {"viciousness": {"lr": 0}}}, "lr"),
        ({"model": "../other"}, "model"),
        ({"url": "file:///etc/passwd"}, "url"),
        ({"key": "a-key-for-whom"}, "a key is for the server"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_wrong_request_is_refused_at_once(api: Api, changes: dict[str, Any], said: str) -> None:
    assert said in str(problem(post(api, REQUEST | changes), 422, "invalid-input"))


def test_data_that_is_not_here_is_told(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAKRANGE_DATA", raising=False)
    body = problem(post(api, REQUEST | {"plan": {"data": {"name": "utkface"}}}), 404, "data-unavailable")
    assert "utkface" in body["detail"]


def test_an_audit_outlives_its_controller_and_says_why_it_failed(
    settings: Callable[..., ControllerSettings],
) -> None:
    told = settings(attempts=1000)
    with serve(told) as url, httpx.Client(base_url=url) as client:
        api = Api(client)
        answer = post(api, REQUEST | {"url": NOWHERE, "key": "a-key-for-whom"})
        assert answer.status_code == 202
        audit = answer.json()["id"]
        assert answer.headers["location"] == answer.json()["url"] == f"/v1/audits/{audit}"
        other = post(api, REQUEST).json()["id"]
        view = api.get(f"/v1/audits/{audit}")
        assert (view["state"], view["verdict"], view["problem"]) == ("running", None, None)
        assert (view["model"], view["server"], view["plan"]["labelled"]) == ("some-model", NOWHERE, 50)
        assert "a-key-for-whom" not in str(view)
    with serve(told.model_copy(update={"attempts": 1})) as url, httpx.Client(base_url=url) as client:
        api = Api(client)
        for each in (audit, other):
            view = ended(api, each)
            assert view["state"] == "failed"
            assert view["problem"]["type"].endswith("/unavailable"), view
            assert NOWHERE in view["problem"]["detail"]
        listed = api.get("/v1/audits?limit=1")
        assert ([entry["id"] for entry in listed["audits"]], listed["next"]) == ([other], other)
        assert [entry["id"] for entry in api.get(f"/v1/audits?after={other}")["audits"]] == [audit]
        problem(api.ask("GET", "/v1/audits?after=none"), 422, "invalid-input")
