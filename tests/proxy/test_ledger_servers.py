"""The ledger on a real cluster, and behind real Sentinels: who is asked, what a failover leaves, and that
nothing is answered unpaid."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis
from redis.crc import key_slot

from leakrange.load.exactness import LedgerTarget
from leakrange.service.parties import REDIS
from leakrange.service.redis_users import redis_users
from leakrange.services.proxy.line import Address
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.names import LedgerNames
from leakrange.services.proxy.servers import Cluster, Sentinels, read_servers
from leakrange.wire.tensors import NPY, encode_npy
from tests.patience import until
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, settings
from tests.proxy.failover import fail_over
from tests.proxy.ledger_servers import RedisServers, cluster, sentinels
from tests.proxy.servers import SHAPE, serve

PASSWORD = "a password: @/?"
NAMES = LedgerNames(clustered=True)


@contextmanager
def proxies(servers: RedisServers, live: Range, replicas: int = 0) -> Iterator[list[Range]]:
    """Two proxies that come to the ledger as the user that a range's servers have for them, and know the
    model ``digits``."""
    rules = next(
        line
        for line in redis_users(REDIS, dict.fromkeys(("operator", "proxy"), PASSWORD)).splitlines()
        if line.startswith("user proxy")
    )
    for node in servers.nodes:
        with node.client() as client:
            client.execute_command("ACL", "SETUSER", *rules.split()[1:])
    url = servers.url.replace("://", "://proxy:a%20password%3A%20%40%2F%3F@")
    changes = {"redis_replicas": replicas, "reservation_seconds": 6, "upstream_timeout": 5}
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(timeout=20))
        urls = [stack.enter_context(serve(proxy(settings(url, **changes)))) for _ in range(2)]
        made = [Range(each, live.provider, live.provider_url, client, url) for each in urls]
        made[0].admin("PUT", "/routes/digits", {"upstream": live.provider_url})
        yield made


@pytest.fixture(scope="module")
def three_masters() -> Iterator[RedisServers]:
    with cluster(replicas=0) as servers:
        yield servers


@pytest.fixture
def pair(three_masters: RedisServers, live: Range) -> Iterator[list[Range]]:
    """Two proxies on an empty cluster of three masters."""
    for node in three_masters.nodes:
        with node.client() as client:
            client.flushall()
    with proxies(three_masters, live) as made:
        yield made


def test_the_url_says_where_the_ledger_is() -> None:
    one = read_servers("redis://proxy:secret@ledger:7000/2")
    assert (one.masters, one.options["db"], one.clustered) == ({0: Address("ledger", 7000)}, 2, False)
    many = read_servers("rediss+cluster://proxy:a%20b@one,[::1]:7001?ssl_cert_reqs=none")
    assert isinstance(many, Cluster)
    assert many._known == [Address("one", 6379), Address("::1", 7001)]
    assert (many.options["password"], many.options["ssl_cert_reqs"]) == ("a b", "none")
    watched = read_servers("redis+sentinel://proxy:secret@one,two:26380/ledger/3?sentinel_password=other")
    assert isinstance(watched, Sentinels)
    assert watched._known == [Address("one", 26379), Address("two", 26380)]
    assert (watched.options["password"], watched.options["db"]) == ("secret", 3)
    assert (watched._others["password"], watched._others["username"], watched._others["db"]) == (
        "other",
        None,
        0,
    )


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://",
        "redis+cluster://one:port",
        "redis+cluster://one:70000",
        "redis+cluster://one/3",
        "redis+sentinel://one:26379",
        "redis+sentinel://one/ledger/base",
        "redis+hosts://one",
        "http+cluster://one",
    ],
)
def test_a_url_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"ledger|cluster|Sentinels"):
        settings(url)


@given(st.sampled_from(["redis+cluster://", "rediss+sentinel://"]), st.text())
def test_any_url_is_read_or_refused(scheme: str, rest: str) -> None:
    try:
        servers = read_servers(scheme + rest)
    except ValueError:
        return
    assert not servers.fixed


def test_what_changes_together_lies_in_one_slot() -> None:
    configuration = {key_slot(each.encode()) for each in (NAMES.version, NAMES.auth("x"), NAMES.record("x"))}
    account = {key_slot(each.encode()) for each in NAMES.of_account("x", "repeat")}
    assert len(configuration) == len(account) == 1
    assert len(NAMES.of_account("x", "repeat")) == 4
    assert {key_slot(each.encode()) for each in NAMES.limit("slow", ["x"])} != account


def test_keys_of_a_cluster_are_kept_as_those_of_one_server(pair: list[Range]) -> None:
    one, two = pair
    key = one.key(10)
    assert two.post(key, "logits", encode_npy(pictures(4)), Idempotency_Key="a").status_code == 200
    again = one.post(key, "logits", encode_npy(pictures(4)), Idempotency_Key="a")
    assert again.headers["Idempotency-Replayed"] == "true"
    problem(one.post(key, "logits", encode_npy(pictures(7))), 429, "budget-exhausted")
    one.admin("PATCH", "/keys/key", {"budget": 11})
    assert two.post(key, "logits", encode_npy(pictures(7))).status_code == 200
    account = two.account()
    assert (account["spent"], account["remaining"], account["refused"]) == (11, 0, 1)
    assert (account["replays"], account["name"], account["refunded"]) == (1, "tester", 0)
    one.admin("PATCH", "/keys/key", {"budget": None})
    assert two.post(key, "logits", encode_npy(pictures(7))).status_code == 200
    one.admin("PATCH", "/keys/key", {"revoked": True})
    problem(two.post(key, "logits", encode_npy(pictures(1))), 401, "unauthenticated")
    assert two.account()["spent"] == 18


def test_what_one_limit_refuses_costs_no_other_and_no_budget(pair: list[Range]) -> None:
    """Five limits, each in a slot of its own; the last has too little left."""
    one, two = pair
    for name in "abcd":
        one.admin("PUT", f"/limits/{name}", {"kind": "global", "samples": 100})
    one.admin("PUT", "/limits/slow", {"kind": "window", "samples": 5, "seconds": 1000})
    key = one.key(100, limits=["a", "b", "c", "d", "slow"])
    answer = two.post(key, "logits", encode_npy(pictures(3)))
    assert (answer.status_code, answer.headers["RateLimit-Limit"]) == (200, "5")
    assert answer.headers["RateLimit-Remaining"] == "2"
    for repeat in ({}, {"Idempotency_Key": "a"}):
        refusal = one.post(key, "logits", encode_npy(pictures(3)), **repeat)
        assert problem(refusal, 429, "budget-exhausted")["limit"] == "slow"
        assert int(refusal.headers["Retry-After"]) > 900
    account = one.account()
    assert (account["spent"], account["refused"], account["refunded"], account["reserved"]) == (3, 2, 0, 0)
    for name in "abcd":
        assert two.admin("GET", f"/limits/{name}")["used"] == {"all": 3}
    one.provider.before = _fails
    problem(one.post(key, "logits", encode_npy(pictures(2))), 502, "upstream-failed")
    assert two.admin("GET", "/limits/slow")["used"] == {"key": 3}
    assert two.admin("GET", "/limits/d")["used"] == {"all": 3}
    one.admin("PATCH", "/keys/key", {"limits": []})
    one.admin("DELETE", "/limits/d", status=204)
    one.admin("PUT", "/limits/d", {"kind": "global", "samples": 1})
    assert two.admin("GET", "/limits/d")["used"] == {}


async def _fails(_path: str) -> int:
    return 500


def test_an_account_that_is_lost_bounds_nothing_so_nothing_is_answered(
    pair: list[Range], three_masters: RedisServers
) -> None:
    one, _ = pair
    key = one.key(10)
    assert one.post(key, "logits", encode_npy(pictures(1))).status_code == 200
    with three_masters.master(NAMES.account("key")).client() as store:
        assert store.delete(NAMES.account("key")) == 1
    lost = problem(one.post(key, "logits", encode_npy(pictures(1))), 503, "unavailable")
    assert "'key' is lost" in lost["detail"]
    problem(one.post(key, "logits", encode_npy(pictures(1)), Idempotency_Key="a"), 503, "unavailable")


def test_a_charge_that_no_replica_has_is_not_answered_and_stays(
    live: Range, another: Callable[..., Range]
) -> None:
    careful = another(redis_replicas=1, redis_timeout=0.4)
    key = live.key(10)
    told = problem(careful.post(key, "logits", encode_npy(pictures(3))), 503, "unavailable")
    assert "0 of 1 replicas" in told["detail"]
    assert live.provider.data_requests() == []
    assert live.account()["spent"] == 3
    problem(careful.post(key, "logits", encode_npy(pictures(3)), Idempotency_Key="a"), 503, "unavailable")
    until(lambda: live.account()["remaining"] == 7, 20)  # what was reserved has come back


async def test_a_slot_may_be_moved_while_it_is_used(pair: list[Range], three_masters: RedisServers) -> None:
    """Its keys go one by one, and the proxies' scripts wait or follow; none is carried out twice or half."""
    one, two = pair
    key, over = one.key(10**6), asyncio.Event()
    answered = {200: 0}

    async def client(place: Range, number: int) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY, "Accept": NPY}
        async with httpx.AsyncClient(timeout=20, trust_env=False) as session:
            while not over.is_set():
                more = {"Idempotency-Key": f"{number}-{answered[200]}"} if number % 2 else {}
                answer = await session.post(
                    f"{place.url}/v1/models/digits/logits",
                    content=encode_npy(np.zeros((1, *SHAPE), np.uint8)),
                    headers=headers | more,
                )
                replayed = "Idempotency-Replayed" in answer.headers
                answered[answer.status_code] = answered.get(answer.status_code, 0) + (not replayed)

    asking = [asyncio.create_task(client(pair[number % 2], number)) for number in range(6)]
    name = NAMES.account("key")
    old = three_masters.master(name)
    new = next(node for node in three_masters.nodes if node != old)
    for source, target in ((old, new), (new, old), (old, new)):
        await asyncio.to_thread(_more, answered, answered[200] + 10)
        await asyncio.to_thread(_move, key_slot(name.encode()), source.port, target.port)
    await asyncio.to_thread(_more, answered, answered[200] + 10)
    over.set()
    await asyncio.gather(*asking)
    assert three_masters.master(name) == new
    assert set(answered) == {200}
    assert two.account()["spent"] == two.account()["requests"] == answered[200] >= 40


def _more(answered: dict[int, int], number: int) -> None:
    until(lambda: answered[200] >= number, 20, "more answers")


def _move(slot: int, source: int, target: int) -> None:
    with Redis(port=source) as old, Redis(port=target) as new:
        names = [each.execute_command("CLUSTER", "MYID").decode() for each in (old, new)]
        new.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
        old.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
        while keys := old.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 1):
            old.execute_command("MIGRATE", "127.0.0.1", target, keys[0], 0, 5000)
        for each in (new, old):
            each.execute_command("CLUSTER", "SETSLOT", slot, "NODE", names[1])


@pytest.mark.parametrize(
    ("standing", "replicas", "act"),
    [(cluster, 2, signal.SIGKILL), (cluster, 1, signal.SIGSTOP), (sentinels, 2, signal.SIGKILL)],
    ids=["a killed master of a cluster", "a cut off master of a cluster", "a master that Sentinels replace"],
)
async def test_a_failover_leaves_nothing_unpaid(
    live: Range, standing: Callable[..., Any], replicas: int, act: signal.Signals
) -> None:
    with standing(replicas=replicas) as servers, proxies(servers, live, replicas=1) as pair:
        place = LedgerTarget([each.url for each in pair], OPERATOR, ["digits"], SHAPE)
        figures = await fail_over(place, servers, act)
        assert figures.unforeseen == ()
        assert (figures.unpaid, figures.overpaid) == (0, 0), figures
        assert figures.answered > 100
        assert figures.uncertain > 0
        key = pair[0].key(1000, id="after")
        for each in pair:  # until it is paid at the new master
            until(
                lambda place=each: place.post(key, "logits", encode_npy(pictures(1))).status_code == 200, 20
            )  # type: ignore[misc]
        before = pair[1].account("after")
        pair[0].provider.before = _fails
        problem(pair[1].post(key, "logits", encode_npy(pictures(4))), 502, "upstream-failed")
        account = pair[1].account("after")
        assert account["spent"] == before["spent"] >= 2
        assert account["refunded"] == before["refunded"] + 4
