"""Schemathesis: requests of all kinds after the provider's own OpenAPI document, against a live provider."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import schemathesis
import schemathesis.checks
import schemathesis.core.result
from hypothesis import HealthCheck, given, settings

import tests.serializers  # noqa: F401  # by which Schemathesis sends arrays
from tests.provider.conftest import KEY, Provider
from tests.provider.tiny import SHAPE

FACES = {f"/v1/models/{{model}}/{rest}" for rest in ("verification", "gallery", "gallery/{person}")}


def attack(operation: Any, statuses: set[int]) -> None:
    """Send requests of all kinds to one operation, and note the statuses of the answers."""

    turns = itertools.cycle([True, False])

    @given(case=operation.as_strategy())
    @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        if "model" in (case.path_parameters or {}) and next(turns):
            # Every other one: or nearly all would be unknown models.
            case.path_parameters["model"] = "faces" if case.path in FACES else "honest"
        headers = {"Authorization": f"Bearer {KEY}"} if "/operator/" in case.path else {}
        answer = case.call(headers=headers)
        statuses.add(answer.status_code)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]
            assert answer.json()["status"] == answer.status_code
            assert not case.path.startswith("/v2") or answer.json()["error"]

    ask()


def test_no_request_makes_the_provider_fail(provider: Provider, digests: dict[str, str]) -> None:
    provider.deploy("faces", digests["honest"], service="verification", threshold=1.0).raise_for_status()
    schema = schemathesis.openapi.from_url(f"{provider.url}/openapi.json")
    tried: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        assert not isinstance(found, schemathesis.core.result.Err), found.err()
        attack(found.ok(), tried.setdefault(found.ok().label, set()))
    assert len(tried) >= 12
    for endpoint in ("v1/models/{model}/logits", "v1/models/{model}/verification", "v2/models/{model}/infer"):
        statuses = tried[f"POST /{endpoint}"]  # unknown models, and bodies that known ones cannot use
        assert 404 in statuses
        assert statuses & {400, 413, 415, 422}
    assert {200, 404} <= tried["GET /v2/models/{model}"]
    assert {200, 404} <= tried["GET /v1/models/{model}/gallery"]
    assert 200 in tried["GET /v1/models/{model}/artifact"]
    assert 200 in tried["GET /v1/operator/models/{model}/intake"]


def test_the_document_knows_every_route(provider: Provider) -> None:
    paths = provider.client.get("/openapi.json").json()["paths"]
    native = {path: sorted(paths[path]) for path in paths if path.startswith("/v1/models")}
    assert native == {
        "/v1/models": ["get"],
        "/v1/models/{model}": ["get"],
        "/v1/models/{model}/artifact": ["get"],
        "/v1/models/{model}/logits": ["post"],
        "/v1/models/{model}/softmax": ["post"],
        "/v1/models/{model}/features": ["post"],
        "/v1/models/{model}/sample": ["post"],
        "/v1/models/{model}/recognition": ["post"],
        "/v1/models/{model}/verification": ["post"],
        "/v1/models/{model}/gallery": ["get"],
        "/v1/models/{model}/gallery/{person}": ["delete", "put"],
        "/v1/models/{model}/outputs": ["post"],
    }
    assert {path: sorted(paths[path]) for path in paths if path.startswith("/v2")} == {
        "/v2": ["get"],
        "/v2/health/live": ["get"],
        "/v2/health/ready": ["get"],
        "/v2/models/{model}": ["get"],
        "/v2/models/{model}/ready": ["get"],
        "/v2/models/{model}/infer": ["post"],
    }
    logits = paths["/v1/models/{model}/logits"]["post"]
    assert set(logits["requestBody"]["content"]) >= {"application/json", "application/x-npy", "image/png"}
    assert set(logits["responses"]["200"]["content"]) == {"application/json", "application/x-npy"}


def test_the_document_is_true_of_verifications(provider: Provider, digests: dict[str, str]) -> None:
    """What it says of a request is taken, and what it says of an answer comes."""
    provider.deploy("faces", digests["honest"], service="verification", threshold=1.0).raise_for_status()
    schema = schemathesis.openapi.from_url(f"{provider.url}/openapi.json")
    face = np.zeros(SHAPE, np.uint8).tolist()
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("PUT", "/v1/models/{model}/gallery/{person}", {"body": {"inputs": [face]}}),
        ("GET", "/v1/models/{model}/gallery", {}),
        ("POST", "/v1/models/{model}/verification", {"body": {"pairs": [[face, face]]}}),
        (
            "POST",
            "/v1/models/{model}/verification",
            {"body": {"inputs": [face]}, "query": {"person": "ann"}},
        ),
        ("DELETE", "/v1/models/{model}/gallery/{person}", {}),
    ]
    for method, path, sent in asked:
        names = {"model": "faces"} | ({"person": "ann"} if "{person}" in path else {})
        media = {"media_type": "application/json"} if "body" in sent else {}
        case = schema[path][method].Case(path_parameters=names, **media, **sent)
        answer = case.call()
        assert answer.status_code in (200, 204), answer.text
        case.validate_response(answer, checks=[schemathesis.checks.response_schema_conformance])


def test_the_document_is_true_of_inference(provider: Provider, digests: dict[str, str]) -> None:
    provider.deploy("faces", digests["honest"]).raise_for_status()
    schema = schemathesis.openapi.from_url(f"{provider.url}/openapi.json")
    tensor = {"name": "input", "shape": [1, *SHAPE], "datatype": "UINT8", "data": [7] * math.prod(SHAPE)}
    for method, path, sent in (
        (
            "POST",
            "/v2/models/{model}/infer",
            {"media_type": "application/json", "body": {"inputs": [tensor]}},
        ),
        ("GET", "/v2/models/{model}", {}),
        ("GET", "/v2", {}),
    ):
        names = {"model": "faces"} if "{model}" in path else {}
        case = schema[path][method].Case(path_parameters=names, **sent)
        answer = case.call()
        assert answer.status_code == 200, answer.text
        case.validate_response(answer, checks=[schemathesis.checks.response_schema_conformance])
