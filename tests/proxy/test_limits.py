"""Limits beside a key's budget: what each counts, what a refusal says, and what comes back."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import aiohttp
import httpx
import pytest
import redis

from leakrange.wire.tensors import NPY, encode_npy
from tests.proxy.conftest import OPERATOR, Range, pictures, problem
from tests.proxy.servers import Gate
from tests.proxy.test_budget import a_late_answer, until


def ask(live: Range, key: str, samples: int, endpoint: str = "logits", **more: str) -> httpx.Response:
    return live.post(key, endpoint, encode_npy(pictures(samples)), **more)


def put(live: Range, name: str, kind: str, **parameters: Any) -> None:
    live.admin("PUT", f"/limits/{name}", {"kind": kind, **parameters})


def used(live: Range, name: str) -> dict[str, int]:
    found: dict[str, int] = live.admin("GET", f"/limits/{name}")["used"]
    return found


def refused(answer: httpx.Response, limit: str, remaining: int) -> httpx.Response:
    told = problem(answer, 429, "budget-exhausted")
    assert (told["limit"], told["remaining"]) == (limit, remaining)
    assert answer.headers["RateLimit-Remaining"] == str(remaining)
    return answer


def test_per_model_counts_each_model_of_each_key(live: Range) -> None:
    put(live, "each", "per-model", samples=5)
    live.admin("PUT", "/routes/letters", {"upstream": live.provider_url})
    first, second = live.key(100, limits=["each"]), live.key(100, id="second", limits=["each"])
    answer = ask(live, first, 4)
    assert (answer.headers["RateLimit-Limit"], answer.headers["RateLimit-Remaining"]) == ("5", "1")
    assert "Retry-After" not in refused(ask(live, first, 2), "each", 1).headers
    assert ask(live, first, 5, model="letters").status_code == 200
    assert ask(live, second, 3).status_code == 200
    assert used(live, "each") == {"key digits": 4, "key letters": 5, "second digits": 3}
    assert (live.account()["spent"], live.account()["refused"]) == (9, 1)


def test_global_is_one_budget_of_all_keys(live: Range) -> None:
    put(live, "all", "global", samples=10)
    first, second = live.key(100, limits=["all"]), live.key(None, id="second", limits=["all"])
    outside = live.key(100, id="outside")
    assert ask(live, first, 6).status_code == 200
    refused(ask(live, second, 5), "all", 4)
    answer = ask(live, second, 4)
    assert (answer.headers["RateLimit-Limit"], answer.headers["RateLimit-Remaining"]) == ("10", "0")
    assert ask(live, outside, 7).status_code == 200
    assert used(live, "all") == {"all": 10}


def test_weighted_charges_what_a_release_tells(live: Range) -> None:
    put(live, "units", "weighted", units=100, costs={"features": 20, "softmax": 2}, other=5)
    key = live.key(100, limits=["units"])
    assert ask(live, key, 2, "features").headers["RateLimit-Remaining"] == "3"  # 60 units left
    assert ask(live, key, 4, "softmax").headers["RateLimit-Remaining"] == "26"  # 52
    assert ask(live, key, 4, "logits").headers["RateLimit-Limit"] == "20"  # 32
    refused(ask(live, key, 2, "features"), "units", 1)
    assert ask(live, key, 16, "softmax").status_code == 200
    assert used(live, "units") == {"key": 100}


def test_a_window_slides(live: Range) -> None:
    put(live, "brief", "window", samples=10, seconds=3)
    key = live.key(1000, limits=["brief"])
    begun = time.monotonic()
    assert ask(live, key, 6).status_code == 200
    until(lambda: time.monotonic() > begun + 1.5)
    assert ask(live, key, 4).headers["RateLimit-Remaining"] == "0"
    told = refused(ask(live, key, 5), "brief", 0)
    assert told.headers["Retry-After"] in ("1", "2")
    # Four samples are free as soon as the first six are forgotten, not the last four.
    assert refused(ask(live, key, 4), "brief", 0).headers["Retry-After"] in ("1", "2")
    assert "Retry-After" not in refused(ask(live, key, 11), "brief", 0).headers
    until(lambda: ask(live, key, 5).status_code == 200)
    assert time.monotonic() - begun >= 3.0
    refused(ask(live, key, 2), "brief", 1)  # the four are still in the window
    with redis.Redis.from_url(live.redis_url) as store:
        assert store.zcard("leakrange:proxy:limit:brief:key") == 2
        # Of a key that asks no more, nothing stays.
        assert 0 < store.pttl("leakrange:proxy:limit:brief:key") <= 3000


def test_what_a_window_has_forgotten_is_not_given_back_to_it(live: Range) -> None:
    put(live, "brief", "window", samples=10, seconds=0.2)
    key, gate, answers = live.key(100, limits=["brief"]), Gate(), list[httpx.Response]()

    async def fail_late(path: str) -> int:
        await gate(path)
        return 500

    live.provider.before = fail_late
    asking = threading.Thread(target=lambda: answers.append(ask(live, key, 4)))
    asking.start()
    assert gate.waiting.acquire(timeout=20)
    live.provider.before = None
    charged = time.monotonic()
    assert used(live, "brief") == {"key": 4}
    until(lambda: time.monotonic() > charged + 0.2)
    assert ask(live, key, 1).status_code == 200
    assert used(live, "brief") == {"key": 1}
    gate.open()
    asking.join()
    problem(answers[0], 502, "upstream-failed")
    assert (used(live, "brief"), live.account()["refunded"]) == ({"key": 1}, 4)


@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "k"}], ids=["charged", "reserved"])
def test_a_failure_gives_back_what_every_limit_took(live: Range, headers: dict[str, str]) -> None:
    put(live, "each", "per-model", samples=10)
    put(live, "all", "global", samples=10)
    put(live, "units", "weighted", units=30, other=3)
    put(live, "brief", "window", samples=10, seconds=1000)
    key = live.key(10, limits=["each", "all", "units", "brief"])

    async def fail(path: str) -> int:
        return 500

    live.provider.before = fail
    problem(ask(live, key, 10, **headers), 502, "upstream-failed")
    live.provider.before = None
    assert live.account()["spent"] == live.account()["reserved"] == 0
    for name in ("each", "all", "units", "brief"):
        assert set(used(live, name).values()) == {0}
    assert ask(live, key, 10, **headers).headers["RateLimit-Remaining"] == "0"
    assert used(live, "units") == {"key": 30}
    if headers:
        assert ask(live, key, 10, **headers).headers["Idempotency-Replayed"] == "true"
        assert used(live, "all") == {"all": 10}
        with redis.Redis.from_url(live.redis_url) as store:
            assert store.keys("leakrange:proxy:taken:*") == []


def test_what_an_expired_reservation_took_comes_back_to_limits(live: Range) -> None:
    """As after a proxy that was killed. An answer that is only late is charged to them again."""
    put(live, "all", "global", samples=10)
    put(live, "brief", "window", samples=10, seconds=1000)
    key = live.key(10, limits=["all", "brief"])
    with a_late_answer(live, key, Idempotency_Key="k") as answers:
        until(lambda: live.account()["refunded"] == 4)
        assert (used(live, "all"), used(live, "brief")) == ({"all": 0}, {"key": 0})
    assert answers[0].status_code == 200
    assert (used(live, "all"), used(live, "brief")) == ({"all": 4}, {"key": 4})
    with a_late_answer(live, key, Idempotency_Key="l") as answers:
        until(lambda: ask(live, key, 5).status_code == 200)
    assert answers[0].status_code == 503  # the limits have no room left for it
    assert (used(live, "all"), live.account()["spent"]) == ({"all": 9}, 9)


def test_a_request_is_charged_to_all_limits_or_to_none(live: Range) -> None:
    put(live, "wide", "global", samples=100)
    put(live, "narrow", "per-model", samples=3)
    key = live.key(50, limits=["wide", "narrow"])
    refused(ask(live, key, 4), "narrow", 3)
    assert used(live, "wide") == {}
    assert live.account()["spent"] == 0


def test_a_storm_of_keys_on_common_limits_is_counted_exactly(live: Range) -> None:
    put(live, "all", "global", samples=300)
    put(live, "each", "per-model", samples=70)
    put(live, "brief", "window", samples=60, seconds=1000)
    names = ["all", "each", "brief"]
    keys = {f"k{number}": live.key(80, id=f"k{number}", limits=names[: number % 4]) for number in range(8)}
    answered = dict.fromkeys(keys, 0)

    async def client(session: aiohttp.ClientSession, id_: str, size: int) -> None:
        for _ in range(30):
            async with session.post(
                f"{live.url}/v1/models/digits/logits",
                data=encode_npy(pictures(size)),
                headers={"Authorization": f"Bearer {keys[id_]}", "Content-Type": NPY, "Accept": NPY},
            ) as answer:
                await answer.read()
                assert answer.status in (200, 429)
                answered[id_] += size if answer.status == 200 else 0

    async def storm() -> None:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(client(session, id_, size) for id_ in keys for size in (1, 2, 3)))

    asyncio.run(storm())
    for id_, got in answered.items():
        assert live.account(id_)["spent"] == got <= 80
    bound = {name: [id_ for n, id_ in enumerate(keys) if n % 4 > place] for place, name in enumerate(names)}
    assert used(live, "all") == {"all": sum(answered[id_] for id_ in bound["all"])} == {"all": 300}
    assert used(live, "each") == {f"{id_} digits": answered[id_] for id_ in bound["each"] if answered[id_]}
    assert used(live, "brief") == {id_: answered[id_] for id_ in bound["brief"] if answered[id_]}
    assert answered["k0"] == answered["k4"] == 80


def test_limits_are_put_listed_changed_and_deleted(live: Range) -> None:
    put(live, "each", "per-model", samples=5)
    told = live.admin("GET", "/limits")
    assert told["limits"] == [{"name": "each", "kind": "per-model", "samples": 5}]
    kinds = {kind["kind"]: kind for kind in told["kinds"]}
    assert {"per-model", "global", "weighted", "window"} <= set(kinds)
    assert kinds["window"]["required"] == ["samples", "seconds"]
    assert all(kind["summary"] for kind in kinds.values())
    key = live.key(100, limits=["each"])
    ask(live, key, 5)
    put(live, "each", "per-model", samples=7)  # what is counted stays
    refused(ask(live, key, 3), "each", 2)
    answer = _admin(live, "DELETE", "/limits/each")
    assert problem(answer, 409, "conflict")["keys"] == ["key"]
    put(live, "each", "weighted", units=7)  # another kind counts anew
    assert used(live, "each") == {}
    assert ask(live, key, 7).status_code == 200
    assert live.admin("PATCH", "/keys/key", {"limits": []})["limits"] == []
    assert ask(live, key, 9).status_code == 200
    live.admin("DELETE", "/limits/each", status=204)
    problem(_admin(live, "GET", "/limits/each"), 404, "not-found")
    put(live, "each", "weighted", units=7)
    assert used(live, "each") == {}


@pytest.mark.parametrize(
    "parameters",
    [
        {"kind": "window", "samples": 50, "seconds": 1000},
        {"kind": "decaying", "decimals": 2, "every": 10},
        {"kind": "colluding", "samples": 50, "matches": 1},
    ],
    ids=lambda parameters: parameters["kind"],
)
def test_nothing_that_was_counted_outlives_its_limit(live: Range, parameters: dict[str, Any]) -> None:
    """Neither when it is deleted, nor when it becomes one of another kind."""
    live.admin("PUT", "/limits/one", parameters)
    live.admin("PUT", "/limits/other", parameters)
    keys = [live.key(100, limits=["one", "other"], id=f"k{number}") for number in range(2)]
    for key in keys:
        assert ask(live, key, 4).status_code == 200
    with redis.Redis.from_url(live.redis_url) as store:
        assert len(store.keys("leakrange:proxy:limit:one*")) >= 1
        for number in range(2):
            live.admin("PATCH", f"/keys/k{number}", {"limits": []})
        live.admin("DELETE", "/limits/one", status=204)
        put(live, "other", "global", samples=9)
        assert store.keys("leakrange:proxy:limit:*") == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"kind": "per-modl", "samples": 5}, "kind"),
        ({"samples": 5}, "body.kind"),
        ({"kind": "window", "samples": 5}, "seconds"),
        ({"kind": "global", "samples": -1}, "samples"),
        ({"kind": "global", "samples": 1, "seconds": 2}, "seconds"),
        ({"kind": "weighted", "units": 5, "costs": {"artefact": 2}}, "costs.artefact.[key]"),
        ({"kind": "weighted", "units": 5, "other": 0}, "other"),
    ],
)
def test_limits_that_cannot_be(live: Range, body: dict[str, Any], path: str) -> None:
    told = problem(_admin(live, "PUT", "/limits/one", body), 422, "invalid-input")
    assert [mistake["path"] for mistake in told["mistakes"]] == [path]
    assert live.admin("GET", "/limits")["limits"] == []


def test_a_key_names_limits_that_are_there(live: Range) -> None:
    answer = _admin(live, "POST", "/keys", {"name": "n", "budget": 1, "limits": ["nowhere"]})
    assert "no limit 'nowhere'" in problem(answer, 422, "invalid-input")["detail"]
    live.key(1)
    problem(_admin(live, "PATCH", "/keys/key", {"limits": ["nowhere"]}), 422, "invalid-input")


def _admin(live: Range, method: str, path: str, json: Any = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    return live.client.request(method, f"{live.url}/admin{path}", json=json, headers=headers)
