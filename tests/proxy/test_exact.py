"""The ledger is exact under every counting and every kind of limit, with two proxies in processes of their
own and answers that fail: on one Redis server, and on a cluster of three masters."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from leakrange.load.exactness import CASES, CountingCase, LedgerTarget, spend
from leakrange.services.proxy.limits import limit_kinds
from leakrange.services.proxy.main import proxy
from tests.proxy.conftest import OPERATOR, Range, settings
from tests.proxy.ledger_servers import cluster
from tests.proxy.servers import SHAPE, serve
from tests.serving import proxy_process


@pytest.fixture(scope="module")
def proxies(redis_url: str) -> Iterator[list[str]]:
    with proxy_process(redis_url, OPERATOR) as (one, _), proxy_process(redis_url, OPERATOR) as (two, _):
        yield [one, two]


@pytest.fixture(scope="module")
def clustered() -> Iterator[list[str]]:
    with (
        cluster(replicas=0) as servers,
        serve(proxy(settings(servers.url))) as one,
        serve(proxy(settings(servers.url))) as two,
    ):
        yield [one, two]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_ledger_equals_what_was_answered(
    live: Range, proxies: list[str], case: CountingCase
) -> None:
    await _exact(live, proxies, case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_cluster_is_as_exact(live: Range, clustered: list[str], case: CountingCase) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    for model in ("digits", "letters"):
        route = {"upstream": live.provider_url}
        live.client.put(
            f"{clustered[0]}/admin/routes/{model}", json=route, headers=headers
        ).raise_for_status()
    await _exact(live, clustered, case)


async def _exact(live: Range, proxies: list[str], case: CountingCase) -> None:
    live.admin("PUT", "/routes/letters", {"upstream": live.provider_url})
    chance = random.Random(1)

    async def sometimes(path: str) -> int | None:
        return 500 if chance.random() < 0.1 else None

    live.provider.before = sometimes
    place = LedgerTarget(proxies, OPERATOR, ["digits", "letters"], SHAPE)
    line = await spend(place, case, clients=24, keys=5 if case.alike else 4, bound=60)
    assert line.exact, line
    assert line.answered == line.spent >= 60
    assert line.refunded > 0
    assert line.refused > 0


def test_every_kind_of_limit_is_a_case() -> None:
    named = {case.limit(10)["kind"] for case in CASES if case.limit is not None}
    assert named == set(limit_kinds) - {"epsilon"}  # by the script of "weighted"; of votes alone
