"""Large bodies: what they must not cost, and what is told about them."""

from __future__ import annotations

import socket
from http.client import HTTPResponse

import httpx
import numpy as np
import orjson
import pytest

from leakrange.services.proxy import queries
from leakrange.wire.tensors import JSON, encode_npy
from tests.proxy.conftest import Range, pictures, problem, values

LARGE = pictures(600)
"""A hundred kilobytes as npy, four times that as JSON."""


@pytest.fixture
def never_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(*_: object, **__: object) -> None:
        raise AssertionError("the body was parsed")

    monkeypatch.setattr(queries, "count_steps", count)


@pytest.mark.usefixtures("never_counted")
@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "new"}])
def test_a_key_with_nothing_left_is_refused_before_a_large_body_is_parsed(
    live: Range, headers: dict[str, str]
) -> None:
    body = orjson.dumps({"inputs": LARGE.tolist()})
    answer = live.post(live.key(0), "logits", body, Content_Type=JSON, **headers)
    told = problem(answer, 429, "budget-exhausted")
    assert told["remaining"] == 0
    assert answer.headers["ratelimit-remaining"] == "0"
    assert live.account()["refused"] == 1
    assert live.account()["spent"] == live.account()["reserved"] == 0


def test_a_large_body_costs_what_it_holds_and_its_repeat_nothing(live: Range) -> None:
    key = live.key(len(LARGE))
    first = live.post(key, "logits", encode_npy(LARGE), Idempotency_Key="once")
    again = live.post(key, "logits", encode_npy(LARGE), Idempotency_Key="once")
    np.testing.assert_array_equal(values(first), values(again))
    assert again.headers["idempotency-replayed"] == "true"
    assert live.account()["spent"] == len(LARGE)
    problem(live.post(key, "logits", encode_npy(LARGE), Idempotency_Key="other"), 429, "budget-exhausted")


def test_large_json_and_npy_of_one_batch_get_one_answer(live: Range) -> None:
    live.policy({"noise": {"scale": 1, "sticky": True}})
    key = live.key()
    as_json = live.post(key, "logits", orjson.dumps({"inputs": LARGE.tolist()}), Content_Type=JSON)
    np.testing.assert_array_equal(values(as_json), live.query(key, LARGE))


def _request(live: Range, head: str) -> socket.socket:
    url = httpx.URL(live.url)
    client = socket.create_connection((url.host, url.port or 80), timeout=20)
    client.sendall(f"{head}\r\nHost: {url.host}\r\nConnection: close\r\n".encode())
    return client


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST /v1/models/digits/logits HTTP/1.1\r\nAuthorization: Bearer nobody", 401),
        ("PATCH /v1/models/digits/logits HTTP/1.1", 405),
        ("POST /admin/nowhere HTTP/1.1", 404),
    ],
)
def test_an_answer_before_the_body_does_not_reset_the_connection(live: Range, head: str, status: int) -> None:
    body = bytes(1_000_000)
    with _request(live, head) as client:
        client.sendall(b"Content-Length: %d\r\n\r\n" % len(body))
        answer = HTTPResponse(client)
        answer.begin()
        assert answer.status == status
        assert answer.read()
        client.sendall(body)  # a closed connection would break here
        assert client.recv(1) == b""


def test_a_body_with_an_upgrade_is_refused_instead_of_waited_for(live: Range) -> None:
    url = httpx.URL(live.url)
    for place in ("/v1/models/digits/logits", "/admin/keys"):
        with socket.create_connection((url.host, url.port or 80), timeout=20) as client:
            head = (
                f"POST {place} HTTP/1.1\r\nHost: {url.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            )
            client.sendall(head.encode() + b"Content-Length: 2\r\n\r\n{}")
            answer = HTTPResponse(client)
            answer.begin()
            assert answer.status == 422
            assert b"Upgrade" in answer.read()


def test_the_operators_bodies_are_small(live: Range) -> None:
    """They are parsed before the key is looked at."""
    body = b'{"name": [' + b"[]," * 400_000 + b"[]]}"
    answer = live.client.post(f"{live.url}/admin/keys", content=body, headers={"Content-Type": JSON})
    problem(answer, 413, "body-too-large")
