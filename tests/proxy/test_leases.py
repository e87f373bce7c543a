"""Leased budgets: few questions to Redis, nothing spent twice, and nothing given away when proxies die."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
import pytest
import redis
from redis.asyncio import Redis

from leakrange.services.proxy.leases import FIRST_BLOCK, LARGEST_BLOCK, LEASE, VALID_SECONDS, Lease, Leases
from leakrange.services.proxy.names import PREFIX
from leakrange.services.proxy.pipe import Pipe
from leakrange.services.proxy.script_runner import Script, ScriptRunner
from leakrange.wire.errors import BudgetExhausted, Unavailable
from leakrange.wire.tensors import NPY, encode_npy
from tests.proxy.conftest import OPERATOR, Range, pictures, problem
from tests.proxy.test_budget import until
from tests.serving import proxy_process


def ask(live: Range, key: str, samples: int, **more: str) -> httpx.Response:
    return live.post(key, "logits", encode_npy(pictures(samples)), **more)


def settled(live: Range, spent: int) -> bool:
    account = live.account()
    return bool(account["spent"] == spent and account["held"] == account["reserved"] == 0)


def test_many_requests_ask_redis_a_few_times(live: Range) -> None:
    key, body = live.key(1_000_000, counting="leased"), encode_npy(pictures(2))

    async def storm() -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY}
        async with aiohttp.ClientSession(headers=headers) as session:

            async def client() -> None:
                for _ in range(25):
                    async with session.post(f"{live.url}/v1/models/digits/logits", data=body) as answer:
                        assert answer.status == 200
                        await answer.read()

            await asyncio.gather(*(client() for _ in range(16)))

    assert ask(live, key, 1).status_code == 200  # the proxy has read the configuration
    with redis.Redis.from_url(live.redis_url) as store:
        before = _scripts_run(store)
        begun = time.monotonic()
        asyncio.run(storm())
        # 400 requests of 2 samples; blocks double from 16 samples on, then one settlement a tick. Where a
        # machine stops for a tick all is given back, and begins anew. Blocks of 16 alone would be 50.
        assert _scripts_run(store) - before <= 35 + 10 * (time.monotonic() - begun)
    until(lambda: settled(live, 801))
    account = live.account()
    assert (account["requests"], account["remaining"], account["counting"]) == (401, 999_199, "leased")


def _scripts_run(store: redis.Redis) -> int:
    return int(store.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])


def test_headers_tell_what_remains_and_the_last_sample_is_answered(live: Range) -> None:
    key = live.key(30, counting="leased")
    told = [ask(live, key, 3) for _ in range(10)]
    assert [int(answer.headers["RateLimit-Remaining"]) for answer in told] == list(range(27, -1, -3))
    assert {answer.headers["RateLimit-Limit"] for answer in told} == {"30"}
    refused = ask(live, key, 1)
    assert problem(refused, 429, "budget-exhausted")["remaining"] == 0
    assert "Retry-After" not in refused.headers
    assert refused.headers["RateLimit-Remaining"] == "0"
    until(lambda: settled(live, 30))
    assert live.account()["refused"] == 1


def test_what_the_provider_did_not_answer_is_refunded(live: Range) -> None:
    key = live.key(10, counting="leased")

    async def fail(path: str) -> int:
        return 500

    live.provider.before = fail
    for _ in range(5):
        problem(ask(live, key, 9), 502, "upstream-failed")
    live.provider.before = None
    until(lambda: settled(live, 0))
    live.provider.before = fail
    problem(ask(live, key, 9), 502, "upstream-failed")
    live.provider.before = None
    assert ask(live, key, 10).status_code == 200
    until(lambda: settled(live, 10))
    assert (live.account()["refunded"], live.account()["requests"]) == (54, 1)


def test_proxies_share_the_last_samples(live: Range, another: Callable[..., Range]) -> None:
    """What one holds and does not use, another gets soon; meanwhile it says when to come back."""
    key, other = live.key(100, counting="leased"), another()
    assert ask(live, key, 4).status_code == 200
    assert live.account()["held"] in (12, 8)  # an eighth of what was free; four settled by now, maybe
    refused = ask(other, key, 96)
    problem(refused, 429, "budget-exhausted")
    assert refused.headers["Retry-After"] == "1"
    until(lambda: ask(other, key, 96).status_code == 200, seconds=2)
    until(lambda: settled(live, 100))


def test_three_proxies_spend_one_leased_budget_exactly(live: Range, another: Callable[..., Range]) -> None:
    """Mixed batches, some of which fail: what is answered is the budget, whichever proxy is asked."""
    key, budget = live.key(1500, counting="leased"), 1500
    urls = [live.url, another().url, another().url]
    chance, statuses = random.Random(1), Counter[int]()
    bodies = {size: encode_npy(pictures(size)) for size in (1, 2, 3, 5, 8)}
    answered = 0

    async def sometimes(path: str) -> int | None:
        await asyncio.sleep(0)
        return 500 if chance.random() < 0.05 else None

    live.provider.before = sometimes

    async def client(session: aiohttp.ClientSession, number: int) -> None:
        nonlocal answered
        chosen = random.Random(number)
        while True:
            size = chosen.choice(list(bodies))
            async with session.post(
                f"{chosen.choice(urls)}/v1/models/digits/logits",
                data=bodies[size],
                headers={"Authorization": f"Bearer {key}", "Content-Type": NPY, "Accept": NPY},
            ) as answer:
                await answer.read()
                statuses[answer.status] += 1
                answered += size if answer.status == 200 else 0
                if answer.status == 429 and size == 1 and "Retry-After" not in answer.headers:
                    return
                if answer.status == 200:
                    assert 0 <= int(answer.headers["RateLimit-Remaining"]) < budget

    async def storm() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=24)) as session:
            await asyncio.gather(*(client(session, number) for number in range(24)))

    asyncio.run(storm())
    assert answered == budget
    assert set(statuses) == {200, 429, 502}
    until(lambda: settled(live, budget))
    assert live.account()["requests"] == statuses[200]


def test_what_a_killed_proxy_held_is_spent(live: Range) -> None:
    """Not more than that, and not before it has been silent for a while."""
    key = live.key(1000, counting="leased")
    with proxy_process(live.redis_url, OPERATOR, lease_seconds=2) as (url, process):
        doomed = Range(url, live.provider, live.provider_url, live.client, live.redis_url)
        assert ask(doomed, key, 10).status_code == 200
        process.kill()
    account = live.account()
    held = account["held"]
    assert 10 <= account["spent"] + held <= 10 + 64
    assert account["remaining"] == 1000 - account["spent"] - held
    refused = ask(live, key, 1000 - 10)
    problem(refused, 429, "budget-exhausted")
    until(lambda: settled(live, account["spent"] + held))
    last = live.account()["remaining"]
    assert ask(live, key, last).status_code == 200
    problem(ask(live, key, 1), 429, "budget-exhausted")
    until(lambda: settled(live, 1000))


def test_a_proxy_that_is_told_to_stop_gives_everything_back(live: Range) -> None:
    key = live.key(1000, counting="leased")
    with proxy_process(live.redis_url, OPERATOR) as (url, process):
        through = Range(url, live.provider, live.provider_url, live.client, live.redis_url)
        assert ask(through, key, 10).status_code == 200
        assert process.stop() in (0, -15)
    assert settled(live, 10)


def test_changes_of_a_key_take_effect_within_a_second(live: Range) -> None:
    """Also while the lease is in steady use, and through another proxy than the one that leases."""
    key = live.key(100_000, counting="leased")
    for _ in range(30):
        assert ask(live, key, 5).status_code == 200
    live.admin("PATCH", "/keys/key", {"budget": 200})
    begun = time.monotonic()
    while ask(live, key, 1).status_code == 200:
        assert time.monotonic() - begun < 1.5
    until(lambda: settled(live, live.account()["spent"]))
    live.admin("PATCH", "/keys/key", {"budget": 100_000})
    until(lambda: ask(live, key, 5).status_code == 200, seconds=1.5)
    live.admin("PATCH", "/keys/key", {"revoked": True})
    begun = time.monotonic()
    while (answer := ask(live, key, 1)).status_code == 200:
        assert time.monotonic() - begun < 1.5
    problem(answer, 401, "unauthenticated")


async def test_a_lease_is_valid_from_when_it_was_asked_for(live: Range) -> None:
    """However long Redis takes: a change of the key that was made meanwhile is not in its answer."""
    live.key(100, counting="leased")

    class Noting(ScriptRunner):
        asked = 0.0

        async def run(self, script: Script, keys: Sequence[str], *arguments: Any) -> Any:
            self.asked = time.monotonic()
            return await super().run(script, keys, *arguments)

    async with Redis.from_url(live.redis_url) as store:
        version = (await store.get(PREFIX + "version")).decode()
    pipe = Pipe(live.redis_url, 5)
    scripts = Noting(pipe)
    leases = Leases(scripts, "a-proxy", 60)
    try:
        lease = await leases.charge("key", version, 5)
        assert lease.valid_until <= scripts.asked + VALID_SECONDS
    finally:
        await leases.close()
        await pipe.close()
    assert live.account()["spent"] == 5


Charge = Callable[[int], Coroutine[Any, Any, Lease]]


@asynccontextmanager
async def leasing(live: Range, kind: type[ScriptRunner] = ScriptRunner) -> AsyncIterator[tuple[Charge, Any]]:
    """Gives what charges so many samples of the key to the lease of a proxy, and the proxy's scripts; what is
    held is given back in the end."""
    pipe = Pipe(live.redis_url, 5)
    scripts = kind(pipe)
    leases = Leases(scripts, "a-proxy", 60)
    async with Redis.from_url(live.redis_url) as store:

        async def charge(samples: int) -> Lease:
            return await leases.charge("key", (await store.get(PREFIX + "version")).decode(), samples)

        yield charge, scripts
    await leases.close()
    await pipe.close()


async def test_what_is_held_under_another_budget_is_not_spent(
    live: Range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy holds twelve of a hundred samples beside the five that it has used, and the operator leaves the
    key ten in all."""
    monkeypatch.setattr(
        "leakrange.services.proxy.leases.SETTLE_EVERY", 60.0
    )  # nothing is given back meanwhile
    live.key(100, counting="leased")
    async with leasing(live) as (charge, _):
        assert (await charge(5)).free > 5
        live.admin("PATCH", "/keys/key", {"budget": 10})
        await charge(3)
        with pytest.raises(BudgetExhausted):
            await charge(3)
    assert settled(live, 8)


async def test_a_lease_takes_back_what_is_not_settled_yet(live: Range) -> None:
    live.key(100, counting="leased")
    async with leasing(live) as (charge, _):
        lease = await charge(4)
        assert lease.give(1)
        await asyncio.to_thread(until, lambda: live.account()["spent"] == 3)
        assert not lease.give(1)  # whoever counts it now is Redis
    assert settled(live, 3)


async def test_however_much_was_used_of_late_no_more_is_held_than_a_block(live: Range) -> None:
    """What a proxy holds when it dies is lost to its key."""
    live.key(None, counting="leased")
    async with leasing(live) as (charge, _):
        lease = await charge(10 * LARGEST_BLOCK)
        await asyncio.to_thread(until, lambda: lease.block > FIRST_BLOCK)  # it is adapted to that
        assert lease.block <= LARGEST_BLOCK
        assert live.account()["held"] <= LARGEST_BLOCK


async def test_a_lease_is_not_forgotten_while_somebody_waits_for_it(live: Range) -> None:
    """It is given back, since it was idle; the answer of Redis takes until the next request has come."""
    live.key(100, counting="leased")

    class Slow(ScriptRunner):
        given_back, goes_on = asyncio.Event(), asyncio.Event()

        async def run(self, script: Script, keys: Sequence[str], *arguments: Any) -> Any:
            if arguments[7] > 0:
                self.given_back.set()
                await self.goes_on.wait()
            return await super().run(script, keys, *arguments)

    async with leasing(live, Slow) as (charge, scripts):
        lease = await charge(5)
        await scripts.given_back.wait()
        waiting = asyncio.create_task(charge(6))
        await asyncio.to_thread(until, lambda: lease.waiting)
        scripts.goes_on.set()
        assert await waiting is lease
    assert settled(live, 11)


async def test_samples_that_come_while_a_proxy_stops_are_given_back(live: Range) -> None:
    """The tick asks for more of them, since the lease is in use; Redis answers after the tick has ended."""
    live.key(1000, counting="leased")

    class Late(ScriptRunner):
        asked, ended = asyncio.Event(), asyncio.Event()

        async def run(self, script: Script, keys: Sequence[str], *arguments: Any) -> Any:
            if arguments[-2] > FIRST_BLOCK and not self.asked.is_set():
                reply = asyncio.create_task(super().run(script, keys, *arguments))
                self.asked.set()
                await self.ended.wait()  # until it is cancelled
                return await reply
            return await super().run(script, keys, *arguments)

    async with leasing(live, Late) as (charge, scripts):
        await charge(100)
        await asyncio.wait_for(scripts.asked.wait(), 5)
    assert settled(live, 100)


async def test_who_gives_up_waiting_for_redis_loses_no_samples(
    live: Range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message is lost, and sent again for a request that is cancelled before Redis answers."""
    monkeypatch.setattr("leakrange.services.proxy.leases.SETTLE_EVERY", 60.0)
    live.key(1000, counting="leased")

    class Away(ScriptRunner):
        away, asked = False, asyncio.Event()

        async def run(self, script: Script, keys: Sequence[str], *arguments: Any) -> Any:
            if self.away and not self.asked.is_set():
                self.asked.set()
                raise redis.ConnectionError
            if self.away:
                self.asked.clear()
                await asyncio.Event().wait()
            return await super().run(script, keys, *arguments)

    async with leasing(live, Away) as (charge, scripts):
        lease = await charge(5)
        held = lease.free
        assert held > 0
        scripts.away = True
        with pytest.raises(Unavailable):
            await charge(100)
        lease.valid_until = 0.0  # so that all is to be given back with the next message
        waiting = asyncio.create_task(charge(3))
        await asyncio.to_thread(until, lambda: not scripts.asked.is_set())
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        scripts.away = False
        assert lease.free == held
    assert settled(live, 5)


def test_an_idempotency_key_is_counted_exactly(live: Range) -> None:
    key = live.key(100, counting="leased")
    assert ask(live, key, 10).status_code == 200
    assert ask(live, key, 20, Idempotency_Key="k").status_code == 200
    assert ask(live, key, 20, Idempotency_Key="k").headers["Idempotency-Replayed"] == "true"
    until(lambda: settled(live, 30))


def test_leased_counting_takes_no_limits(live: Range) -> None:
    live.admin("PUT", "/limits/all", {"kind": "global", "samples": 5})
    headers = {"Authorization": f"Bearer {OPERATOR}"}

    def operate(method: str, path: str, body: object) -> httpx.Response:
        return live.client.request(method, f"{live.url}/admin{path}", json=body, headers=headers)

    both = {"name": "n", "budget": 1, "limits": ["all"], "counting": "leased"}
    told = problem(operate("POST", "/keys", both), 422, "invalid-input")
    assert "leased counting takes none" in told["detail"]
    live.key(10, counting="leased")
    problem(operate("PATCH", "/keys/key", {"limits": ["all"]}), 422, "invalid-input")
    live.key(10, id="bound", limits=["all"])
    problem(operate("PATCH", "/keys/bound", {"counting": "leased"}), 422, "invalid-input")
    changed = {"counting": "leased", "limits": []}
    assert live.admin("PATCH", "/keys/bound", changed)["counting"] == "leased"
    assert live.admin("PATCH", "/keys/bound", {"counting": "exact"})["counting"] == "exact"


@pytest.mark.parametrize("unlimited", [False, True])
async def test_a_message_that_comes_twice_is_done_once(live: Range, unlimited: bool) -> None:
    live.key(None if unlimited else 100, counting="leased")
    async with Redis.from_url(live.redis_url) as store:
        version = await store.get(PREFIX + "version")
        pipe = Pipe(live.redis_url, 5)
        scripts = ScriptRunner(pipe)

        async def say(number: int, used: int, back: int, need: int) -> list[bytes]:
            message = (number, used, 1 if used else 0, 0, back, 0, need, 0, 60_000)
            told: list[bytes] = await scripts.run(LEASE, (), "key", version, "a-proxy", *message)
            return told[:3]

        assert await say(1, 0, 0, 40) == await say(1, 0, 0, 40)
        assert live.account()["held"] == 40
        first = await say(2, 25, 5, 20)
        assert await say(2, 25, 5, 20) == first
        account = live.account()
        assert (account["spent"], account["held"], account["requests"]) == (25, 30, 1)
        assert account["remaining"] == (None if unlimited else 45)
        await pipe.close()


async def test_a_promoted_replica_that_lacks_the_last_message_lends_no_sample_twice(
    live: Range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy has used samples that this server never lent it. Unpaid are the five of the lost message."""
    monkeypatch.setattr("leakrange.services.proxy.leases.SETTLE_EVERY", 60.0)
    live.key(1000, counting="leased")
    names = [f"{PREFIX}{kind}:key" for kind in ("key", "leases")]
    async with leasing(live) as (charge, _), Redis.from_url(live.redis_url) as store:
        await charge(5)
        copied = [await store.dump(name) for name in names]
        assert (await charge(30)).free > 0
        for name, copy in zip(names, copied, strict=True):
            await store.restore(name, 0, copy, replace=True)
        await charge(20)
        with pytest.raises(BudgetExhausted):
            await charge(951)
        await charge(950)
    assert settled(live, 1000)
