"""Budgets in samples: exact under concurrency, failures, killed proxies and clients that go away."""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import aiohttp
import httpx
import pytest

from leakrange.services.proxy.main import proxy
from leakrange.wire.tensors import JSON, NPY, encode_npy
from tests import patience
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, settings
from tests.proxy.servers import Gate, serve
from tests.serving import proxy_process

until = partial(patience.until, seconds=10.0)


def test_answers_tell_the_budget_and_refusals_cost_nothing(live: Range) -> None:
    key = live.key(10)
    answer = live.post(key, "logits", encode_npy(pictures(4)))
    assert (answer.headers["RateLimit-Limit"], answer.headers["RateLimit-Remaining"]) == ("10", "6")
    refused = live.post(key, "logits", encode_npy(pictures(7)))
    told = problem(refused, 429, "budget-exhausted")
    assert (told["asked"], told["remaining"]) == (7, 6)
    assert (refused.headers["RateLimit-Limit"], refused.headers["RateLimit-Remaining"]) == ("10", "6")
    assert "Retry-After" not in refused.headers  # time alone will not help
    live.query(key, pictures(6))
    problem(live.post(key, "logits", encode_npy(pictures(1))), 429, "budget-exhausted")
    account = live.account()
    assert account | {"created": 0} == {
        "id": "key",
        "name": "tester",
        "policy": None,
        "models": None,
        "endpoints": None,
        "limits": [],
        "counting": "exact",
        "revoked": False,
        "created": 0,
        "budget": 10,
        "spent": 10,
        "reserved": 0,
        "held": 0,
        "remaining": 0,
        "requests": 2,
        "replays": 0,
        "refused": 2,
        "refunded": 0,
    }
    live.admin("PATCH", "/keys/key", {"budget": 12})
    live.query(key, pictures(2))
    live.admin("PATCH", "/keys/key", {"budget": None})
    answer = live.post(key, "logits", encode_npy(pictures(200)))
    assert answer.status_code == 200
    assert "RateLimit-Limit" not in answer.headers


@pytest.mark.parametrize(
    ("status", "told"),
    [(500, 502), (502, 502), (503, 503), (400, 422), (404, 404), (422, 422), (429, 503), (302, 502)],
)
def test_what_the_provider_did_not_answer_is_refunded(live: Range, status: int, told: int) -> None:
    key = live.key(10)

    async def fail(path: str) -> int:
        return status

    live.provider.before = fail
    answer = live.post(key, "logits", encode_npy(pictures(10)))
    assert answer.status_code == told
    assert answer.headers["content-type"] == "application/problem+json"
    live.provider.before = None
    live.query(key, pictures(10))
    assert live.account()["spent"] == live.account()["refunded"] == 10


NONSENSE = {
    "too few": (NPY, NPY, encode_npy(pictures(1).reshape(1, -1))),
    "broken npy": (NPY, NPY, b"\x93NUMPY nonsense"),
    "ragged": (JSON, JSON, b'{"values": [[1, 2, 3, 4, 5], [1, 2, 3, 4]]}'),
    "no list": (JSON, JSON, b'{"values": 3}'),
    "other media": (NPY, JSON, b'{"values": [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]}'),
    "html": (NPY, "text/html", b"<html>"),
}
"""What is asked for, and what is answered."""


@pytest.mark.parametrize(
    ("name", "defended"),
    [(name, defended) for name in NONSENSE for defended in (False, True) if defended or name != "ragged"],
)
def test_nonsense_from_the_provider_is_refunded_and_not_passed_on(
    live: Range, name: str, defended: bool
) -> None:
    key, (asked, media, body) = live.key(10), NONSENSE[name]
    if defended:
        live.policy({"round": 1})

    async def nonsense(path: str) -> Any:
        return (200, media, body) if path.endswith("/logits") else None  # its card is right

    live.provider.before = nonsense
    problem(live.post(key, "logits", encode_npy(pictures(2)), accept=asked), 502, "upstream-failed")
    assert live.account()["spent"] == live.account()["reserved"] == 0


def test_rows_in_json_are_counted_and_not_looked_into_where_no_policy_changes_them(live: Range) -> None:
    async def ragged(path: str) -> Any:
        return 200, JSON, b'{"values": [[1, 2], [3]]}'

    live.provider.before = ragged
    told = live.post(live.key(10), "logits", encode_npy(pictures(2)), accept=JSON)
    assert (told.status_code, told.json()["values"]) == (200, [[1, 2], [3]])
    assert live.account()["spent"] == 2


def test_a_provider_that_is_down_is_refunded(live: Range) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        live.admin("PUT", "/routes/digits", {"upstream": f"http://127.0.0.1:{nobody.getsockname()[1]}"})
        answer = live.post(live.key(10), "logits", encode_npy(pictures(3)))
    problem(answer, 503, "unavailable")
    assert answer.headers["Retry-After"] == "1"
    assert (live.account()["spent"], live.account()["refunded"]) == (0, 3)


def test_a_provider_that_is_late_is_refunded(live: Range, another: Any) -> None:
    key, gate = live.key(10), Gate()
    live.provider.before = gate
    problem(another(upstream_timeout=0.2).post(key, "logits", encode_npy(pictures(3))), 503, "unavailable")
    gate.open()
    assert (live.account()["spent"], live.account()["refunded"]) == (0, 3)


def test_a_client_that_goes_away_is_charged_for_what_was_answered(live: Range) -> None:
    key, gate = live.key(10), Gate()
    live.provider.before = gate
    body = encode_npy(pictures(4))
    host, _, port = live.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(
            f"POST /v1/models/digits/logits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: {NPY}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        assert gate.waiting.acquire(timeout=10)
    gate.open()
    until(lambda: _answered(live, 4))
    account = live.account()
    assert (account["spent"], account["reserved"], account["remaining"]) == (4, 0, 6)


def _answered(live: Range, samples: int) -> bool:
    """Whether so many samples are spent, and the proxy has nothing under way at the provider."""
    told = live.account()
    return bool(told["spent"] == samples and len(live.provider.data_requests()) == 1)


def test_64_clients_on_one_key_get_exactly_the_budget(live: Range) -> None:
    """Mixed batches, 5 % of the answers fail: 1,000 samples are answered, all else is 429 or refunded."""
    key = live.key(1000)
    chance = random.Random(1)

    async def sometimes(path: str) -> int | None:
        return 500 if chance.random() < 0.05 else None

    live.provider.before = sometimes
    bodies = {size: encode_npy(pictures(size)) for size in (1, 2, 3, 5, 8, 13)}
    answered, statuses, over = 0, Counter[int](), 0

    async def client(session: aiohttp.ClientSession, number: int) -> None:
        nonlocal answered, over
        sizes = random.Random(number)
        while True:
            size = sizes.choice(list(bodies))
            async with session.post(
                f"{live.url}/v1/models/digits/logits",
                data=bodies[size],
                headers={"Authorization": f"Bearer {key}", "Content-Type": NPY, "Accept": NPY},
            ) as answer:
                body = await answer.read()
                statuses[answer.status] += 1
                if answer.status == 200:
                    answered += size
                    over += int(answer.headers["RateLimit-Remaining"]) < 0
                elif answer.status == 429:
                    assert answer.content_type == "application/problem+json"
                    assert b'"asked":%d' % size in body
                    if size == 1 and "Retry-After" not in answer.headers:
                        return  # nothing is left, and nothing is in flight that might come back

    async def storm() -> None:
        connector = aiohttp.TCPConnector(limit=64)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(client(session, number) for number in range(64)))

    asyncio.run(storm())
    assert set(statuses) == {200, 429, 502}
    assert answered == 1000
    assert over == 0
    account = live.account()
    assert (account["spent"], account["reserved"], account["remaining"]) == (1000, 0, 0)
    assert account["requests"] == statuses[200]
    assert account["refused"] == statuses[429]
    assert account["refunded"] > 0


@pytest.mark.parametrize("named", [True, False], ids=["under idempotency keys", "without"])
def test_what_a_killed_proxy_had_in_flight(live: Range, named: bool) -> None:
    """Under an Idempotency-Key its samples come back, and a repeat would be answered. Without one they stay
    spent: the answer may have been sent."""
    key, gate = live.key(10), Gate()
    live.provider.before = gate
    brief = {"upstream_timeout": 2.5, "reservation_seconds": 3}
    with proxy_process(live.redis_url, OPERATOR, **brief) as (url, process):
        doomed = Range(url, live.provider, live.provider_url, live.client, live.redis_url)
        asking = [
            threading.Thread(target=_ask_and_lose, args=(doomed, key, size, named)) for size in (2, 3, 4)
        ]
        for thread in asking:
            thread.start()
        for _ in asking:
            assert gate.waiting.acquire(timeout=10)
        account = live.account()
        assert (account["reserved"], account["spent"]) == ((9, 0) if named else (0, 9))
        refused = live.post(key, "logits", encode_npy(pictures(5)))
        problem(refused, 429, "budget-exhausted")
        # What is reserved may come back.
        assert refused.headers.get("Retry-After") == ("1" if named else None)
        errors = process.kill()
    for thread in asking:
        thread.join()
    live.provider.before = None
    last, returned = (10, 9) if named else (1, 0)
    # The next charge, through any proxy, gives back what the dead one held.
    until(lambda: live.post(key, "logits", encode_npy(pictures(last))).status_code == 200)
    account = live.account()
    assert (account["spent"], account["reserved"], account["refunded"]) == (10, 0, returned)
    assert key.encode() not in errors
    gate.open()


def _ask_and_lose(doomed: Range, key: str, size: int, named: bool) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY}
    if named:
        headers["Idempotency-Key"] = f"of-{size}"
    with pytest.raises(httpx.TransportError), httpx.Client(timeout=20) as client:
        client.post(
            f"{doomed.url}/v1/models/digits/logits", content=encode_npy(pictures(size)), headers=headers
        )


@contextmanager
def a_late_answer(
    live: Range, key: str, status: int | None = None, **headers: str
) -> Iterator[list[httpx.Response]]:
    """A request for four samples whose reservation is over before the provider answers (with ``status``, if
    that is given), which it does at the end of the block; the list then holds what the client was told."""
    gate, answers = Gate(), list[httpx.Response]()

    async def late(path: str) -> int | None:
        await gate(path)
        return status

    live.provider.before = late
    slow = settings(live.redis_url, upstream_timeout=20).model_copy(update={"reservation_seconds": 0.05})
    with serve(proxy(slow)) as url:
        through = Range(url, live.provider, live.provider_url, live.client, live.redis_url)
        body = encode_npy(pictures(4))
        thread = threading.Thread(target=lambda: answers.append(through.post(key, "logits", body, **headers)))
        thread.start()
        assert gate.waiting.acquire(timeout=10)
        live.provider.before = None
        yield answers
        gate.open()
        thread.join()


@pytest.mark.parametrize(("others", "expected"), [(10, 503), (6, 200)])
def test_an_answer_that_outlived_its_reservation_is_sent_only_if_it_can_be_paid(
    live: Range, others: int, expected: int
) -> None:
    """A clock that jumps, or a process that was stopped: the samples have been given to others meanwhile."""
    key = live.key(10)
    with a_late_answer(live, key, Idempotency_Key="k") as answers:
        until(lambda: live.post(key, "logits", encode_npy(pictures(others))).status_code == 200)
    assert answers[0].status_code == expected
    assert live.account()["spent"] == 10
    assert live.account()["reserved"] == 0


@pytest.mark.parametrize("status", [None, 500])
def test_who_took_over_an_idempotency_key_keeps_it(live: Range, status: int | None) -> None:
    """A repeat was answered and paid; the first try, answered or failed later, changes nothing of that."""
    key, body = live.key(100), encode_npy(pictures(4))
    with a_late_answer(live, key, status, Idempotency_Key="k") as answers:
        until(lambda: live.post(key, "logits", body, Idempotency_Key="k").status_code == 200)
    assert answers[0].status_code == (502 if status else 503)
    assert live.post(key, "logits", body, Idempotency_Key="k").headers["Idempotency-Replayed"] == "true"
    account = live.account()
    assert (account["spent"], account["reserved"], account["refunded"]) == (4, 0, 4)


def test_samples_are_counted_in_every_form(live: Range) -> None:
    key, spent = live.key(), 0
    forms: list[tuple[Any, int]] = [(encode_npy(pictures(5)), 5), ({"inputs": pictures(3).tolist()}, 3)]
    for body, samples in forms:
        assert live.post(key, "softmax", body).status_code == 200
        spent += samples
        assert live.account()["spent"] == spent


def test_the_ledger_survives_a_thousand_small_steps(live: Range) -> None:
    """Reserve, settle and refund in any order leave nothing reserved and never overdraw."""
    key, outcomes = live.key(120), itertools.cycle([None, 500, None, 404])

    async def next_outcome(path: str) -> int | None:
        return next(outcomes)

    live.provider.before = next_outcome
    answered = 0
    for size in itertools.islice(itertools.cycle([1, 4, 2, 7, 3]), 80):
        answer = live.post(key, "logits", encode_npy(pictures(size)))
        answered += size if answer.status_code == 200 else 0
        account = live.account()
        assert account["spent"] == answered <= 120
        assert account["reserved"] == 0
