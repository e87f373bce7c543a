"""Shadow policies: counted on the very outputs that were released, and never sent."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from leakrange.defences.output import Chain
from leakrange.services.proxy import forward
from leakrange.services.proxy.names import LedgerNames
from leakrange.services.proxy.shadows import MOST_BYTES, ShadowPolicy, Shadows
from leakrange.services.proxy.snapshot import Binding
from leakrange.wire.tensors import JSON, decode_npy, encode_npy
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, values
from tests.proxy.servers import clean
from tests.proxy.test_budget import until


def shadows(live: Range) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = live.admin("GET", "/shadows")["shadows"]
    return found


def counted(live: Range, requests: int) -> dict[str, Any]:
    until(lambda: shadows(live)[0]["requests"] + shadows(live)[0]["failed"] == requests)
    return shadows(live)[0]


@pytest.mark.parametrize("accept", ["application/x-npy", JSON])
@pytest.mark.parametrize("defended", [True, False])
def test_figures_are_those_of_the_answers(live: Range, accept: str, defended: bool) -> None:
    if defended:
        live.policy({"round": 2})
    live.admin("PUT", "/policies/coarse", {"chain": [{"round": 0}]})
    live.admin("PUT", "/shadows", {"policy": "coarse", "model": "digits"})
    key, images = live.key(), pictures(40)
    raw = clean("logits", images)
    sent = raw.astype(np.float64).round(2).astype(np.float32) if defended else raw
    for part in (slice(0, 15), slice(15, 40)):
        answer = live.post(key, "logits", encode_npy(images[part]), accept=accept)
        assert np.array_equal(values(answer), sent[part])
    made = raw.astype(np.float64).round(0).astype(np.float32)
    told = counted(live, 2)
    assert (told["policy"], told["model"], told["key"], told["endpoint"]) == ("coarse", "digits", None, None)
    assert (told["samples"], told["values"], told["failed"], told["skipped"]) == (40, 200, 0, 0)
    assert told["changed"] == int((made != sent).sum()) > 150
    assert told["decisions"] == int((made.argmax(axis=1) != sent.argmax(axis=1)).sum()) > 0
    expected = np.mean([np.sqrt(sum((a - b) ** 2)) for a, b in zip(made, sent, strict=True)])
    assert told["distance"] == pytest.approx(expected, rel=1e-5)
    assert 0 < told["cpu_seconds"] < 1
    text = httpx.get(f"{live.url}/metrics").text
    assert 'leakrange_proxy_shadow_total{figure="samples",policy="coarse"}' in text


def test_the_provider_is_asked_once_and_nothing_of_it_is_sent(live: Range) -> None:
    live.admin("PUT", "/policies/none", {"chain": []})
    live.admin("PUT", "/policies/loud", {"chain": [{"noise": {"scale": 100, "sticky": True}}]})
    live.admin("PUT", "/bindings", {"policy": "none"})
    live.admin("PUT", "/shadows", {"policy": "loud"})
    key, images = live.key(), pictures(3)
    answer = live.post(key, "logits", encode_npy(images))
    assert np.array_equal(decode_npy(answer.content), clean("logits", images))
    told = counted(live, 1)
    assert told["changed"] == told["values"] == 15
    assert len(live.provider.data_requests()) == 1
    assert not any("loud" in str(seen) for seen in live.provider.seen)


def test_a_shadow_that_fails_fails_no_request(live: Range) -> None:
    live.admin("PUT", "/policies/classes", {"chain": ["argmax"]})
    live.admin("PUT", "/shadows", {"policy": "classes"})
    key = live.key()
    pairs = encode_npy(np.stack([pictures(2), pictures(2, seed=1)], axis=1))
    assert live.post(key, "verification", pairs).status_code == 200
    told = counted(live, 1)
    assert (told["failed"], told["requests"], told["distance"]) == (1, 0, None)
    assert live.post(key, "logits", encode_npy(pictures(2))).status_code == 200
    assert counted(live, 2)["samples"] == 2


def test_the_most_specific_shadow_is_computed_and_others_are_not(live: Range) -> None:
    for name, decimals in (("one", 1), ("two", 2)):
        live.admin("PUT", f"/policies/{name}", {"chain": [{"round": decimals}]})
    key = live.key()
    live.admin("PUT", "/shadows", {"policy": "one"})
    live.admin("PUT", "/shadows", {"policy": "two", "key": "key"})
    live.query(key, pictures(2))
    until(lambda: [each["requests"] for each in shadows(live)] == [0, 1])
    live.admin("DELETE", "/shadows?key=key", status=204)
    live.query(key, pictures(2))
    until(lambda: [each["requests"] for each in shadows(live)] == [1])
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    told = live.client.delete(f"{live.url}/admin/policies/one", headers=headers)
    problem(told, 409, "conflict")
    problem(live.client.delete(f"{live.url}/admin/shadows?key=key", headers=headers), 404, "not-found")


async def test_what_a_shadow_is_too_slow_for_is_skipped(live: Range) -> None:
    """However many requests come: each is answered, and each is either counted or skipped."""
    live.admin("PUT", "/policies/slow", {"chain": [{"noise": {"scale": 1, "sticky": True}}] * 16})
    live.admin("PUT", "/shadows", {"policy": "slow"})
    key, body = live.key(), encode_npy(pictures(60))
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/x-npy"}
    async with httpx.AsyncClient(timeout=30) as client:
        url = f"{live.url}/v1/models/digits/logits"
        answers = await asyncio.gather(*(client.post(url, content=body, headers=headers) for _ in range(100)))
    assert {answer.status_code for answer in answers} == {200}
    until(lambda: sum(shadows(live)[0][name] for name in ("requests", "skipped")) == 100, seconds=30)
    assert shadows(live)[0]["failed"] == 0


@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "a"}])
def test_an_answer_does_not_wait_for_its_shadow(
    live: Range, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    """Where the shadow holds up the whole proxy, the answer has been handed over before."""
    answered, was_first = threading.Event(), []

    def slow(*_: Any) -> dict[str, float]:
        was_first.append(answered.wait(10))
        return {}

    monkeypatch.setattr(forward, "compare", slow)
    live.admin("PUT", "/policies/coarse", {"chain": [{"round": 0}]})
    live.admin("PUT", "/shadows", {"policy": "coarse"})
    live.query(live.key(), pictures(3), **headers)
    answered.set()
    counted(live, 1)
    assert was_first == [True]


async def test_bodies_that_wait_for_a_shadow_are_bounded_together(empty_redis_url: str) -> None:
    may, computed = asyncio.Event(), asyncio.Queue[None]()

    async def work() -> dict[str, float]:
        await may.wait()
        computed.put_nowait(None)
        return {}

    async with Redis.from_url(empty_redis_url) as redis:
        shadows, shadow = (
            Shadows(redis, LedgerNames(False), CollectorRegistry()),
            ShadowPolicy(Binding(), "coarse", Chain.parse([])),
        )
        for _ in range(3):
            shadows.follow(shadow, work, MOST_BYTES // 2)
        may.set()
        await computed.get()
        await computed.get()
        shadows.follow(shadow, work, MOST_BYTES)
        await computed.get()
        figures = await shadows.figures(shadow)
        await shadows.close()
    assert (figures["requests"], figures["skipped"]) == (3, 1)
