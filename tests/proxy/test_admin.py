"""The operator's API: validated, repeatable, live, and for the operator alone."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from leakrange.defences.output import Chain
from leakrange.wire.tensors import encode_npy
from tests.proxy.conftest import OPERATOR, Range, pictures, problem

CHAIN = [{"round": 1}, {"noise": {"scale": 0.1}}]


def _ask(live: Range, method: str, path: str, json: Any = None, key: str = OPERATOR) -> Any:
    headers = {"Authorization": f"Bearer {key}"}
    return live.client.request(method, f"{live.url}/admin{path}", json=json, headers=headers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/policies"),
        ("PUT", "/policies/p"),
        ("DELETE", "/policies/p"),
        ("GET", "/keys"),
        ("POST", "/keys"),
        ("PATCH", "/keys/key"),
        ("PUT", "/bindings"),
        ("PUT", "/routes/digits"),
        ("DELETE", "/routes/digits"),
    ],
)
def test_only_the_operator_may(live: Range, method: str, path: str) -> None:
    key = live.key()
    body = {"chain": [], "upstream": "http://elsewhere", "policy": "p", "name": "n", "budget": 1}
    problem(_ask(live, method, path, body, key=key), 403, "forbidden")
    problem(_ask(live, method, path, body, key=OPERATOR + "x"), 403, "forbidden")
    problem(live.client.request(method, f"{live.url}/admin{path}", json=body), 401, "unauthenticated")
    assert live.admin("GET", "/routes")["routes"] == [{"model": "digits", "upstream": live.provider_url}]


def test_a_policy_is_kept_in_its_canonical_form(live: Range) -> None:
    put = live.admin("PUT", "/policies/soft", {"chain": CHAIN})
    assert put == live.admin("GET", "/policies/soft") == live.admin("GET", "/policies")["policies"][0]
    assert put["digest"] == Chain.parse(CHAIN).digest()
    assert put["deterministic"] is False
    assert put["chain"][0] == {"round": {"decimals": 1}}
    assert Chain.parse(put["chain"]).digest() == put["digest"]
    assert live.admin("PUT", "/policies/none", {"chain": []})["deterministic"] is True
    live.admin("DELETE", "/policies/soft")
    problem(_ask(live, "GET", "/policies/soft"), 404, "not-found")
    problem(_ask(live, "DELETE", "/policies/soft"), 404, "not-found")


def test_all_mistakes_of_a_policy_are_told_at_once(live: Range) -> None:
    answer = _ask(
        live, "PUT", "/policies/p", {"chain": ["argmx", {"round": {"decimals": 99}}, {"top-k": {"kk": 1}}]}
    )
    mistakes = problem(answer, 422, "invalid-chain")["mistakes"]
    assert [mistake["path"] for mistake in mistakes] == [
        [0],
        [1, "round", "decimals"],
        [2, "top-k", "k"],
        [2, "top-k", "kk"],
    ]
    assert live.admin("GET", "/policies") == {"policies": []}


def test_a_bound_policy_cannot_be_deleted(live: Range) -> None:
    live.policy("argmax")
    told = problem(_ask(live, "DELETE", "/policies/policy"), 409, "conflict")
    assert told["bindings"] == [{"key": None, "model": None, "endpoint": None}]
    live.admin("PUT", "/policies/other", {"chain": []})
    live.admin("PUT", "/bindings", {"policy": "other"})
    live.admin("DELETE", "/policies/policy")


@pytest.mark.parametrize(
    ("binding", "slug"),
    [
        ({"policy": "nowhere"}, "no policy 'nowhere'"),
        ({"policy": "one", "key": "nobody"}, "no key has the id 'nobody'"),
        ({"policy": "one", "endpoint": "logits"}, "together with its model"),
        ({"policy": "one", "model": "digits", "endpoint": "artifact"}, "no release"),
        (
            {"policy": "one", "model": "digits", "endpoint": "verification"},
            "means nothing on a score release",
        ),
        ({"policy": "one", "modle": "digits"}, "Extra inputs"),
    ],
)
def test_bindings_that_cannot_hold_are_refused(live: Range, binding: dict[str, str], slug: str) -> None:
    live.admin("PUT", "/policies/one", {"chain": ["argmax"]})
    answer = _ask(live, "PUT", "/bindings", binding)
    problem(answer, 422, "invalid-input")
    assert slug in answer.text
    assert live.admin("GET", "/bindings") == {"bindings": []}


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://user:pw@x", "http://x/?a=1", "x", "", "http://x/#f", "file:///etc/passwd"]
)
def test_routes_are_plain_http_addresses(live: Range, url: str) -> None:
    problem(_ask(live, "PUT", "/routes/digits", {"upstream": url}), 422, "invalid-input")


def test_making_a_key_again_finds_it_unchanged(live: Range) -> None:
    live.admin("PUT", "/policies/p", {"chain": ["argmax"]})
    wanted = {"id": "run-1", "name": "run 1", "budget": 50, "policy": "p", "key": "lr_" + "a1" * 20}
    made = _ask(live, "POST", "/keys", wanted)
    assert (made.status_code, made.json()["policy"], made.json()["key"]) == (201, "p", wanted["key"])
    assert made.headers["cache-control"] == "no-store"
    live.post(wanted["key"], "logits", encode_npy(pictures(20)))
    again = _ask(live, "POST", "/keys", wanted)
    assert (again.status_code, again.json()["spent"], again.json()["remaining"]) == (200, 20, 30)
    told = problem(_ask(live, "POST", "/keys", wanted | {"key": "b" * 40}), 409, "conflict")
    assert told["id"] == "run-1"
    problem(_ask(live, "POST", "/keys", {"id": "run-1", "name": "n", "budget": 1}), 409, "conflict")
    problem(_ask(live, "POST", "/keys", wanted | {"id": "run-2"}), 409, "conflict")
    assert [key["id"] for key in live.admin("GET", "/keys")["keys"]] == ["run-1"]
    assert "key" not in live.admin("GET", "/keys/run-1")
    live.admin("PATCH", "/keys/run-1", {"revoked": True})
    problem(_ask(live, "POST", "/keys", wanted), 409, "conflict")


@pytest.mark.parametrize(
    "change",
    [
        {"budget": -1},
        {"budget": 1.5},
        {"budget": True},
        {"budget": "many"},
        {"key": "short"},
        {"key": "with a space " * 4},
        {"id": "../x"},
        {"name": ""},
        {"policy": "nowhere"},
        {"models": ["a b"]},
        {"endpoints": ["operator"]},
        {"budgets": 3},
    ],
    ids=str,
)
def test_keys_that_cannot_be_made(live: Range, change: dict[str, Any]) -> None:
    problem(_ask(live, "POST", "/keys", {"name": "n", "budget": 1} | change), 422, "invalid-input")
    assert live.admin("GET", "/keys") == {"keys": []}


def test_repeating_what_is_there_changes_no_version(live: Range) -> None:
    """The controller repeats its PUTs after a restart: no proxy needs to read everything anew for that."""

    def version() -> Any:
        with redis.Redis.from_url(live.redis_url) as store:
            return store.get("leakrange:proxy:version")

    live.policy(*CHAIN)
    before = version()
    live.policy(*CHAIN)
    live.admin("PUT", "/routes/digits", {"upstream": live.provider_url})
    assert version() == before
    live.policy("argmax")
    assert version() != before


def test_unknown_keys_are_not_found(live: Range) -> None:
    problem(_ask(live, "GET", "/keys/nobody"), 404, "not-found")
    problem(_ask(live, "PATCH", "/keys/nobody", {"budget": 1}), 404, "not-found")
    problem(_ask(live, "DELETE", "/bindings?key=nobody"), 404, "not-found")
    problem(_ask(live, "DELETE", "/routes/nowhere"), 404, "not-found")
