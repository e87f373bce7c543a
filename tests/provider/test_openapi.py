"""Schemathesis: requests of all kinds after the provider's own OpenAPI document, against a live provider."""

from __future__ import annotations

from typing import Any

import schemathesis
import schemathesis.core.result
from hypothesis import HealthCheck, given, settings

from tests.provider.conftest import KEY, Provider


@schemathesis.serializer("application/x-npy", "image/png", "image/jpeg")
def _as_bytes(ctx: schemathesis.SerializationContext, value: Any) -> Any:
    return value if isinstance(value, bytes) else str(value).encode()


def attack(operation: Any, statuses: set[int]) -> None:
    """Send requests of all kinds to one operation, and note the statuses of the answers."""

    @given(case=operation.as_strategy())
    @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        if "model" in (case.path_parameters or {}) and len(str(case.path_parameters)) % 2:
            case.path_parameters["model"] = "honest"  # or nearly all would be unknown models
        headers = {"Authorization": f"Bearer {KEY}"} if "/operator/" in case.path else {}
        answer = case.call(headers=headers)
        statuses.add(answer.status_code)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]
            assert answer.json()["status"] == answer.status_code

    ask()


def test_no_request_makes_the_provider_fail(provider: Provider) -> None:
    schema = schemathesis.openapi.from_url(f"{provider.url}/openapi.json")
    tried: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        assert not isinstance(found, schemathesis.core.result.Err), found.err()
        attack(found.ok(), tried.setdefault(found.ok().label, set()))
    assert len(tried) >= 12
    assert {404, 422} <= tried["POST /v1/models/{model}/logits"]
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
        "/v1/models/{model}/outputs": ["post"],
    }
    logits = paths["/v1/models/{model}/logits"]["post"]
    assert set(logits["requestBody"]["content"]) >= {"application/json", "application/x-npy", "image/png"}
    assert set(logits["responses"]["200"]["content"]) == {"application/json", "application/x-npy"}
