"""Running it: Redis that goes away, what the metrics and the log tell, and the whole schema thrown at it."""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import schemathesis
import structlog
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from leakrange.service.logs import configure_logs
from leakrange.services.proxy.main import proxy
from leakrange.wire.tensors import encode_npy
from tests.conftest import start_redis
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, settings
from tests.proxy.servers import serve
from tests.proxy.test_budget import until


def test_without_redis_everything_is_503_and_it_recovers_alone(live: Range, tmp_path: Path) -> None:
    store, port = start_redis(tmp_path)
    with serve(proxy(settings(f"redis://127.0.0.1:{port}/0", redis_timeout=1.0))) as url:
        alone = Range(url, live.provider, live.provider_url, live.client, "")
        alone.admin("PUT", "/routes/digits", {"upstream": live.provider_url})
        secret = "lr_" + "k" * 40
        key = alone.key(100, key=secret)
        body = encode_npy(pictures(1))
        assert alone.post(key, "logits", body).status_code == 200
        store.kill()
        store.wait()
        refused = alone.post(key, "logits", body)
        problem(refused, 503, "unavailable")
        assert refused.headers["Retry-After"] == "1"
        problem(
            live.client.get(f"{url}/v1/models", headers={"Authorization": f"Bearer {key}"}),
            503,
            "unavailable",
        )
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        problem(live.client.get(f"{url}/admin/keys", headers=headers), 503, "unavailable")
        assert live.client.get(f"{url}/healthz").status_code == 200
        ready = live.client.get(f"{url}/readyz")
        assert (ready.status_code, list(ready.json()["failed"])) == (503, ["redis"])
        store, _ = start_redis(tmp_path, port)  # empty: nothing that was cached may pass for the present
        try:
            until(lambda: live.client.get(f"{url}/readyz").status_code == 200)
            problem(alone.post(key, "logits", body), 401, "unauthenticated")
            alone.key(1, key=secret)
            problem(alone.post(key, "logits", body), 404, "unknown-model")
            alone.admin("PUT", "/routes/digits", {"upstream": live.provider_url})
            assert alone.post(key, "logits", body).status_code == 200
            problem(alone.post(key, "logits", body), 429, "budget-exhausted")
        finally:
            store.kill()
            store.wait()


@pytest.mark.parametrize("headers", [{"Idempotency_Key": "k"}, {}], ids=["reserved", "charged"])
def test_redis_that_dies_while_the_provider_answers(
    live: Range, tmp_path: Path, headers: dict[str, str]
) -> None:
    """What cannot be settled is not sent; what was charged at once has been paid, and is."""
    store, port = start_redis(tmp_path)
    with serve(proxy(settings(f"redis://127.0.0.1:{port}/0"))) as url:
        alone = Range(url, live.provider, live.provider_url, live.client, "")
        alone.admin("PUT", "/routes/digits", {"upstream": live.provider_url})
        key = alone.key(100)

        async def die(path: str) -> None:
            store.kill()
            store.wait()

        live.provider.before = die
        answer = alone.post(key, "logits", encode_npy(pictures(2)), **headers)
        if headers:
            problem(answer, 503, "unavailable")
        else:
            assert answer.status_code == 200
            assert answer.headers["RateLimit-Remaining"] == "98"
        assert len(live.provider.data_requests()) == 1


def _metrics(url: str) -> dict[str, float]:
    text = httpx.get(f"{url}/metrics").text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_metrics_count_outcomes_and_samples(live: Range, another: Any) -> None:
    fresh = another()
    key, body = live.key(5), encode_npy(pictures(3))
    fresh.post(key, "logits", body, Idempotency_Key="k")
    fresh.post(key, "logits", body, Idempotency_Key="k")
    fresh.post(key, "logits", body)
    fresh.post("lr_unknown", "logits", body)

    async def fail(path: str) -> int:
        return 500

    live.provider.before = fail
    fresh.post(key, "softmax", encode_npy(pictures(2)))
    told = _metrics(fresh.url)
    for outcome in ("answered", "replayed", "budget-exhausted", "unauthenticated"):
        assert told[f'leakrange_proxy_requests_total{{endpoint="logits",outcome="{outcome}"}}'] == 1
    assert told['leakrange_proxy_requests_total{endpoint="softmax",outcome="upstream-failed"}'] == 1
    for outcome, samples in (("answered", 3), ("replayed", 3), ("refused", 3), ("refunded", 2)):
        assert told[f'leakrange_proxy_samples_total{{outcome="{outcome}",policy="(none)"}}'] == samples
    assert told['leakrange_proxy_upstream_failures_total{reason="5xx"}'] == 1
    assert told['leakrange_proxy_seconds_count{endpoint="logits"}'] == 4


def test_metrics_tell_the_budget_that_went_under_each_policy(live: Range, another: Any) -> None:
    fresh = another()
    live.policy("argmax", name="label-only")
    key = live.key(5)
    fresh.post(key, "logits", encode_npy(pictures(3)))
    fresh.post(key, "logits", encode_npy(pictures(4)))
    fresh.post(key, "logits", encode_npy(pictures(2)))
    large = encode_npy(pictures(3000))  # refused before it is read, for nothing is left
    assert fresh.post(key, "logits", large).status_code == 429
    told = _metrics(fresh.url)
    for outcome, samples in (("answered", 5), ("refused", 4 + 1)):
        assert told[f'leakrange_proxy_samples_total{{outcome="{outcome}",policy="label-only"}}'] == samples


def test_logs_never_hold_keys_or_bodies(live: Range, another: Any, capfd: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level, structlog.get_config()
    configure_logs("proxy", "debug")
    try:
        fresh = another()
        key, body = live.key(3), b'{"inputs": [[[[1, 2, 3]]]], "marker-of-the-body": 1}'
        fresh.post(
            key, "logits", body, Content_Type="application/json", Idempotency_Key="marker-of-the-header"
        )
        fresh.post(key, "logits", encode_npy(pictures(9)))
        fresh.post("lr_wrong-key-of-a-stranger", "logits", body)
        fresh.admin("POST", "/keys", {"name": "n", "budget": 1, "key": "lr_" + "marker" * 6})
        fresh.admin("PUT", "/routes/digits", {"upstream": "http://127.0.0.1:9"})
        fresh.post(key, "logits", encode_npy(pictures(1)))
    finally:
        root.handlers = before[0]
        root.setLevel(before[1])
        structlog.configure(**before[2])
    told = capfd.readouterr().err
    lines = [orjson.loads(line) for line in told.splitlines()]
    assert any(line["event"] == "upstream failed" and line["reason"] == "connection" for line in lines)
    assert {line["party"] for line in lines} == {"proxy"}
    for secret in (key, OPERATOR, "stranger", "marker"):
        assert secret not in told


def test_the_schema_refers_to_nothing_that_it_lacks() -> None:
    document = proxy(settings("redis://127.0.0.1:9/0")).app.openapi()
    named = set(re.findall(r"#/components/schemas/(\w+)", orjson.dumps(document).decode()))
    assert {"ModelCard", "SampleSpec", "Decisions", "GalleryEntry"} <= named
    assert named <= set(document["components"]["schemas"])


def test_the_schema_holds_under_whatever_schemathesis_makes_of_it(live: Range) -> None:
    """No 5xx, no crash, on admin and data path alike, with the operator's and an API key."""
    live.policy({"noise": {"scale": 0.1, "sticky": True}})
    live.key(1_000_000)
    api_key = live.key(1_000_000, id="second")
    schema = schemathesis.openapi.from_url(f"{live.url}/openapi.json")
    paths = set(schema.raw_schema["paths"])
    assert {"/v1/models", "/v1/models/{model}/logits", "/v1/models/{model}/outputs", "/admin/keys"} <= paths
    assert {"/v2", "/v2/models/{model}", "/v2/models/{model}/infer"} <= paths
    seen = Counter[int]()
    for result in schema.get_all_operations():
        operation = result.ok()
        bearer = OPERATOR if operation.path.startswith("/admin") else api_key
        _try(operation, bearer, seen)
        _only_digits_is_served(live)
    assert seen[200] > 20
    assert sum(seen.values()) > 100
    assert live.admin("GET", "/keys/second")["reserved"] == 0


def _only_digits_is_served(live: Range) -> None:
    """What was tried may have taken its route away, and brought some to providers that do not answer."""
    live.admin("PUT", "/routes/digits", {"upstream": live.provider_url})
    for route in live.admin("GET", "/routes")["routes"]:
        if route["model"] != "digits":
            live.admin("DELETE", f"/routes/{route['model']}")


def _try(operation: Any, bearer: str, seen: Counter[int]) -> None:
    @hypothesis_settings(
        max_examples=8,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), known=st.booleans())
    def check(case: Any, known: bool) -> None:
        if known and "model" in (case.path_parameters or {}):
            case.path_parameters["model"] = "digits"
        answer = case.call(headers={"Authorization": f"Bearer {bearer}"}, timeout=20)
        seen[answer.status_code] += 1
        assert answer.status_code < 500, (case.method, case.path, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"][0] == "application/problem+json", answer.text
            # Clients of the Open Inference Protocol read no other member.
            assert not case.path.startswith("/v2") or answer.json()["error"], answer.text

    check()
