"""``Idempotency-Key``: one request, one price, one answer."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import numpy as np
import pytest
import redis
from numpy.testing import assert_array_equal

from leakrange.services.proxy.ledger import BudgetLedger, Charge, Idempotency, KeptAnswer, Replay
from leakrange.services.proxy.names import PREFIX
from leakrange.services.proxy.pipe import Pipe
from leakrange.wire.client import NativeClient
from leakrange.wire.errors import Unavailable
from leakrange.wire.tensors import JSON, NPY, decode_npy, encode_npy
from leakrange.wire.transport import AiohttpTransport
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, values
from tests.proxy.servers import Gate
from tests.proxy.test_budget import until
from tests.serving import proxy_process


def test_a_repeat_gets_the_first_answer_and_costs_nothing(live: Range, another: Any) -> None:
    live.policy({"noise": {"scale": 1.0}})
    key, body = live.key(5), encode_npy(pictures(5))
    first = live.post(key, "logits", body, Idempotency_Key="chunk-1")
    assert "Idempotency-Replayed" not in first.headers
    for proxy in (live, another()):
        again = proxy.post(key, "logits", body, Idempotency_Key="chunk-1")
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.content == first.content
        assert again.headers["content-type"] == first.headers["content-type"] == NPY
        assert again.headers["RateLimit-Remaining"] == "0"
    assert len(live.provider.data_requests()) == 1
    account = live.account()
    assert (account["spent"], account["requests"], account["replays"]) == (5, 1, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"body": encode_npy(pictures(2, seed=1))},
        {"endpoint": "softmax"},
        {"accept": JSON},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_request_under_the_same_idempotency_key_is_refused(live: Range, change: Any) -> None:
    key = live.key(10)
    request = {"endpoint": "logits", "body": encode_npy(pictures(2)), "accept": NPY}
    assert live.post(key, **request, Idempotency_Key="k").status_code == 200  # type: ignore[arg-type]
    problem(live.post(key, **(request | change), Idempotency_Key="k"), 422, "invalid-input")
    assert live.account()["spent"] == 2


def test_an_upload_of_another_release_under_the_same_idempotency_key_is_refused(live: Range) -> None:
    key, body = live.key(10), encode_npy(np.full((2, 4), 0.25, dtype=np.float32))
    assert live.post(key, "outputs", body, X_Release="softmax", Idempotency_Key="k").status_code == 200
    told = live.post(key, "outputs", body, X_Release="logits", Idempotency_Key="k")
    problem(told, 422, "invalid-input")
    assert live.account()["spent"] == 2


def test_an_idempotency_key_belongs_to_its_api_key(live: Range) -> None:
    first, second, body = live.key(5), live.key(5, id="second"), encode_npy(pictures(5))
    for key in (first, second):
        assert "Idempotency-Replayed" not in live.post(key, "logits", body, Idempotency_Key="k").headers
    assert live.account("second")["spent"] == 5


def test_a_request_in_flight_is_not_asked_twice(live: Range) -> None:
    key, gate, body = live.key(10), Gate(), encode_npy(pictures(5))
    live.provider.before = gate
    answers: list[httpx.Response] = []

    def ask() -> None:
        answers.append(live.post(key, "logits", body, Idempotency_Key="k"))

    thread = threading.Thread(target=ask)
    thread.start()
    assert gate.waiting.acquire(timeout=10)
    refused = live.post(key, "logits", body, Idempotency_Key="k")
    told = problem(refused, 409, "in-flight")
    assert refused.headers["Retry-After"] == "1"
    assert 0 < told["held"] <= 90
    gate.open()
    thread.join()
    assert answers[0].status_code == 200
    assert live.post(key, "logits", body, Idempotency_Key="k").content == answers[0].content
    assert live.account()["spent"] == 5


async def test_what_a_killed_proxy_has_in_flight_is_answered_when_its_hold_is_over(live: Range) -> None:
    """To a client whose attempts end long before that; and paid once."""
    key, gate, outputs = live.key(2), Gate(), np.eye(2, dtype=np.float32)
    live.provider.before = gate

    async def hand_in(url: str, attempts: int) -> list[int]:
        transport = AiohttpTransport(timeout=20)
        try:
            client = NativeClient(transport, url, key, attempts=attempts)
            return await client.upload("digits", "softmax", outputs, idempotency_key="the-upload")
        finally:
            await transport.close()

    brief = {"upstream_timeout": 2.5, "reservation_seconds": 3}
    with proxy_process(live.redis_url, OPERATOR, **brief) as (url, process):
        lost = asyncio.create_task(hand_in(url, attempts=1))
        assert await asyncio.to_thread(gate.waiting.acquire, timeout=10)
        await asyncio.to_thread(process.kill)
        with pytest.raises(Unavailable):
            await lost
    live.provider.before = None
    assert await hand_in(live.url, attempts=2) == [0, 1]
    gate.open()
    account = live.account()
    assert (account["spent"], account["reserved"], account["refunded"]) == (2, 0, 2)


def test_what_could_not_be_settled_is_given_back_when_redis_answers_again(live: Range) -> None:
    """Long before its hold is over; whoever asks again is answered, and pays once."""
    key, gate, body = live.key(5), Gate(), encode_npy(pictures(5))
    live.provider.before = gate
    answers: list[httpx.Response] = []
    asking = threading.Thread(
        target=lambda: answers.append(live.post(key, "logits", body, Idempotency_Key="k"))
    )
    asking.start()
    assert gate.waiting.acquire(timeout=10)
    with redis.Redis.from_url(live.redis_url) as store:
        store.config_set("min-replicas-to-write", 1)  # it takes no writes
        try:
            gate.open()
            asking.join()
            problem(answers[0], 503, "unavailable")
        finally:
            store.config_set("min-replicas-to-write", 0)
    until(lambda: live.account()["reserved"] == 0)
    assert live.post(key, "logits", body, Idempotency_Key="k").status_code == 200
    account = live.account()
    assert (account["spent"], account["requests"], account["refunded"]) == (5, 1, 5)


async def test_to_give_back_what_was_settled_changes_nothing(live: Range) -> None:
    """As where only Redis' reply to the settlement was lost."""
    live.key(5)
    pipe = Pipe(live.redis_url, timeout=5.0)
    ledger = BudgetLedger(pipe, hold=90, lease=10, keep=60, keep_bytes=100)
    with redis.Redis.from_url(live.redis_url) as store:
        version = str(store.get(f"{PREFIX}version") or b"0", "ascii")
    asked = "key", version, 3, Idempotency("k", "request")
    try:
        charge = await ledger.reserve(*asked)
        assert isinstance(charge, Charge)
        await ledger.settle(charge, KeptAnswer(200, {}, b"answer"))
        await ledger.refund(charge)
        again = await ledger.reserve(*asked)
        assert isinstance(again, Replay)
        assert again.answer.body == b"answer"
    finally:
        await ledger.close()
        await pipe.close()
    account = live.account()
    assert (account["spent"], account["reserved"], account["refunded"]) == (3, 0, 0)


def test_a_failed_request_may_be_repeated_with_the_same_noise(live: Range) -> None:
    """Neither the budget nor the idempotency key is lost, and failing on purpose gives no second draw."""
    live.policy({"noise": {"scale": 1.0}})
    key, body = live.key(2), encode_npy(np.zeros((2, 4), dtype=np.float32))

    async def fail(path: str) -> int:
        return 500

    live.provider.before = fail
    problem(live.post(key, "outputs", body, X_Release="logits", Idempotency_Key="k"), 502, "upstream-failed")
    live.provider.before = None
    answer = live.post(key, "outputs", body, X_Release="logits", Idempotency_Key="k")
    assert answer.status_code == 200
    assert "Idempotency-Replayed" not in answer.headers
    sent = [decode_npy(each[2]) for each in live.provider.data_requests()]
    assert np.abs(sent[0]).min() > 0
    assert_array_equal(sent[0], sent[1])


def test_another_policy_draws_other_noise_for_the_same_request(live: Range) -> None:
    """Else two answers with noise of two scales would tell the values without any."""
    key, body = live.key(2), encode_npy(np.zeros((2, 4), dtype=np.float32))

    async def fail(path: str) -> int:
        return 500

    live.provider.before = fail
    for scale in (1.0, 2.0):
        live.policy({"noise": {"scale": scale}})
        answer = live.post(key, "outputs", body, X_Release="logits", Idempotency_Key="k")
        problem(answer, 502, "upstream-failed")
    first, second = (decode_npy(each[2]) for each in live.provider.data_requests())
    assert not np.allclose(second, 2 * first, rtol=1e-3)


def test_a_kept_answer_is_forgotten_in_time(live: Range, another: Any) -> None:
    brief = another(idempotency_seconds=0.2)
    key, body = live.key(), encode_npy(pictures(1))
    brief.post(key, "logits", body, Idempotency_Key="k")
    until(lambda: "Idempotency-Replayed" not in brief.post(key, "logits", body, Idempotency_Key="k").headers)


def test_an_answer_too_large_to_keep_is_not_computed_twice(live: Range, another: Any) -> None:
    small = another(idempotency_max_body=100)
    key, body = live.key(4), encode_npy(pictures(2))
    assert small.post(key, "logits", body, Idempotency_Key="k").status_code == 200
    told = problem(small.post(key, "logits", body, Idempotency_Key="k"), 409, "conflict")
    assert "too large to keep" in told["detail"]
    assert live.account()["spent"] == 2


@pytest.mark.parametrize("key", ["x" * 201, "", "tab\there"])
def test_an_idempotency_key_is_short_and_printable(live: Range, key: str) -> None:
    answer = live.post(live.key(), "logits", encode_npy(pictures(1)), Idempotency_Key=key)
    problem(answer, 422, "invalid-input")
    assert live.account()["spent"] == 0


def test_an_upload_is_replayed_too(live: Range) -> None:
    key, body = live.key(2), {"release": "logits", "values": [[1.0, 2.0], [2.0, 1.0]]}
    first = live.post(key, "outputs", body, accept=JSON, Idempotency_Key="round-1")
    again = live.post(key, "outputs", body, accept=JSON, Idempotency_Key="round-1")
    assert again.json() == first.json() == {"model": "digits", "version": "1", "decisions": [1, 0]}
    assert len(live.provider.data_requests()) == 1


def test_a_replayed_json_answer_reads_like_the_first(live: Range) -> None:
    live.policy({"round": 2})
    key, body = live.key(), encode_npy(pictures(3))
    first, again = (live.post(key, "softmax", body, accept=JSON, Idempotency_Key="k") for _ in range(2))
    assert_array_equal(values(again), values(first))
    assert again.headers["content-type"] == JSON
