"""Several proxies on one ledger: the budget is one, whoever is asked and whoever dies."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp

from leakrange.wire.tensors import NPY, encode_npy
from tests.proxy.conftest import OPERATOR, Range, pictures
from tests.serving import Killable, proxy_process

BUDGET, CLIENTS, SIZES = 600, 24, (1, 2, 3, 5, 8)


@dataclass
class Heard:
    """What all clients were told together."""

    answered: int = 0
    """Samples of answers that were not repeated ones."""
    lost: int = 0
    """Samples asked of a proxy that died before it answered."""
    repeated: int = 0
    statuses: Counter[int] = field(default_factory=Counter)


def test_three_proxies_spend_one_budget_exactly(live: Range, another: Callable[..., Range]) -> None:
    """Each client goes from proxy to proxy and repeats some requests at another one; one proxy is killed."""
    key, heard = live.key(BUDGET), Heard()
    bodies = {size: encode_npy(pictures(size)) for size in SIZES}
    chance = random.Random(1)

    async def sometimes(path: str) -> int | None:
        await asyncio.sleep(0)  # so that requests of all proxies are under way at once
        return 500 if chance.random() < 0.05 else None

    live.provider.before = sometimes
    brief = {"upstream_timeout": 2.5, "reservation_seconds": 3}
    second = another(**brief)
    with proxy_process(live.redis_url, OPERATOR, **brief) as (doomed, process):
        asyncio.run(_storm([live.url, second.url], doomed, process, key, bodies, heard))
    account = live.account()
    assert second.account() == account
    assert (account["spent"], account["reserved"], account["remaining"]) == (BUDGET, 0, 0)
    # Whatever the clients did not hear of was in flight through the proxy that died.
    assert 0 <= BUDGET - heard.answered <= heard.lost
    assert set(heard.statuses) <= {200, 409, 429, 502, 503}
    assert account["replays"] >= heard.repeated > 0
    assert account["refunded"] > 0


async def _storm(
    others: list[str], doomed: str, process: Killable, key: str, bodies: dict[int, bytes], heard: Heard
) -> None:
    alive = [doomed, *others]

    async def ask(session: aiohttp.ClientSession, url: str, size: int, name: str) -> int:
        """The status; 0 where the proxy died. Counts what was heard."""
        try:
            async with session.post(
                f"{url}/v1/models/digits/logits",
                data=bodies[size],
                headers={
                    "Authorization": f"Bearer {key}",
                    "Content-Type": NPY,
                    "Accept": NPY,
                    "Idempotency-Key": name,
                },
            ) as answer:
                await answer.read()
                heard.statuses[answer.status] += 1
                if answer.status == 200:
                    again = "Idempotency-Replayed" in answer.headers
                    heard.repeated += again
                    heard.answered += 0 if again else size
                    assert int(answer.headers["RateLimit-Remaining"]) >= 0
                elif answer.status == 429 and size == 1 and "Retry-After" not in answer.headers:
                    return -1  # nothing is left, and nothing is in flight that might come back
                return answer.status
        except aiohttp.ClientError:
            assert url == doomed
            heard.lost += size
            return 0

    async def client(session: aiohttp.ClientSession, number: int) -> None:
        chosen = random.Random(number)
        for request in range(10_000):
            size, url = chosen.choice(SIZES), chosen.choice(alive)
            name = f"{number}-{request}"
            status = await ask(session, url, size, name)
            if status == -1:
                return
            if status == 200 and chosen.random() < 0.3:
                await ask(session, chosen.choice(alive), size, name)
            if heard.answered > BUDGET // 3 and doomed in alive:
                alive.remove(doomed)
                process.kill()
        raise AssertionError("the budget was never spent")

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CLIENTS)) as session:
        await asyncio.gather(*(client(session, number) for number in range(CLIENTS)))
