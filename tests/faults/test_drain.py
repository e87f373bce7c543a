"""SIGTERM: a party finishes what it has begun, takes nothing new, and ends."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import numpy as np
import pytest

from leakrange.wire.tensors import NPY, encode_npy
from tests.attacker.fleet import fleet_on, probe_job
from tests.attacker.upstream import Upstream
from tests.conftest import start_redis
from tests.embedded import clean, wait_for
from tests.proxy.conftest import OPERATOR, Range, pictures, values
from tests.proxy.servers import Gate, StubProvider
from tests.proxy.servers import clean as released
from tests.serving import Killable, free_port, proxy_process, serving

GRACE = 10.0
"""Seconds in which a party must have ended after its last answer: far less than what it may wait for one."""
ENDED = (0, -signal.SIGTERM)
"""What parties end with that were told to: uvicorn passes the signal on when it has done its work."""
PARTIES = {
    "proxy": ("leakrange.services.proxy", "POST", "/admin/keys"),
    "provider": ("leakrange.services.provider", "PUT", "/v1/operator/models/digits"),
    "edge": ("leakrange.clients.edge", "POST", "/v1/sessions"),
    "controller": ("leakrange.services.controller", "POST", "/v1/runs"),
}
"""The module that starts each, and what it reads a body for."""


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server, port = start_redis(tmp_path_factory.mktemp("redis"))
    yield f"redis://127.0.0.1:{port}/0"
    server.kill()
    server.wait()


def environment(folder: Path, redis_url: str, port: int) -> dict[str, str]:
    """What a party is started with, in a folder of its own."""
    told: dict[str, Any] = {
        "OPERATOR_KEY": OPERATOR,
        "FLEET_SECRET": "0123456789abcdef-fleet-of-the-tests",
        "REDIS_URL": redis_url,
        "DATABASE_URL": f"sqlite:///{folder}/range.sqlite",
        "PORT": port,
        "PROVIDERS": json.dumps({"honest": "http://127.0.0.1:9"}),
        **{f"{name.upper()}_DIR": folder / name for name in ("state", "models", "releases")},
    }
    (folder / "models").mkdir()
    return clean() | {f"LEAKRANGE_{name}": str(value) for name, value in told.items()}


def caller(port: int) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30))


def refused(port: int) -> bool:
    """Whether nobody takes a connection there."""
    with socket.socket() as knocking:
        knocking.settimeout(1)
        return knocking.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("party", PARTIES)
def test_a_request_under_way_is_answered_and_no_other_is_taken(
    own_redis: str, tmp_path: Path, party: str
) -> None:
    module, method, path = PARTIES[party]
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        env=environment(tmp_path, own_redis, port),
        cwd=Path(__file__).parents[2],
    )
    try:
        wait_for(lambda: not refused(port) or process.poll() is not None, f"{party} to listen", 60)
        with caller(port) as idle, caller(port) as begun:
            idle.request("GET", "/healthz")
            assert idle.getresponse().read()
            begun.putrequest(method, path)
            for name, value in (("Authorization", f"Bearer {OPERATOR}"), ("Content-Length", "8")):
                begun.putheader(name, value)
            begun.endheaders(b"half")
            begun.sock.settimeout(0.3)
            with pytest.raises(TimeoutError):
                begun.sock.recv(1)  # it waits for the other half
            begun.sock.settimeout(30)
            process.terminate()
            wait_for(lambda: refused(port), f"{party} to take nothing new", 10)
            assert process.poll() is None
            begun.send(b"half")
            answer = begun.getresponse()
            told = json.loads(answer.read())
            assert 400 <= answer.status < 500, told
            assert told["detail"]
            assert process.wait(GRACE) in ENDED
            assert idle.sock.recv(1) == b""
    finally:
        process.kill()
        process.wait()


def test_what_a_proxy_has_asked_the_provider_is_given_out_and_paid(live: Range) -> None:
    key, gate = live.key(10), Gate()
    live.provider.before = gate
    answers: list[httpx.Response] = []
    with proxy_process(live.redis_url, OPERATOR) as (url, doomed):
        asked = replace(live, url=url)
        asking = threading.Thread(
            target=lambda: answers.append(asked.post(key, "logits", encode_npy(pictures(4))))
        )
        asking.start()
        assert gate.waiting.acquire(timeout=10)
        ending = threading.Thread(target=doomed.terminate)
        ending.start()
        wait_for(lambda: refused(httpx.URL(url).port or 0), "the proxy to take nothing new", 10)
        gate.open()
        asking.join()
        ending.join()
    np.testing.assert_array_equal(values(answers[0]), released("logits", pictures(4)))
    account = live.account()
    assert (account["spent"], account["reserved"]) == (4, 0)


def test_a_worker_finishes_its_chunk_and_leaves_the_next_to_another(own_redis: str, tmp_path: Path) -> None:
    app = Upstream()
    with fleet_on(own_redis, 1, tmp_path) as fleet, serving(app) as url:
        app.hold()
        worker = fleet.ready(fleet.start("probe", 1))
        first, second = probe_job(url, 0, 5), probe_job(url, 5, 9)
        fleet.send(first)
        app.wait_for_requests(1)
        worker.process.terminate()
        wait_for(lambda: "Warm shutdown" in worker.log(), "the worker to have heard it", 10)
        fleet.send(second)
        app.release()
        assert worker.process.wait(GRACE) == 0, worker.log()
        assert fleet.states(first.identity()) == ["started", "done"]
        assert fleet.states(second.identity()) == []
        fleet.ready(fleet.start("probe", 1))
        fleet.wait_for(second.identity(), "done")
        assert app.answered == [first.identity(), second.identity()]


def test_proxies_that_are_restarted_in_turn_lose_no_request(own_redis: str) -> None:
    """Of clients that ask again, under the same key, whoever is there."""
    samples, requests, clients = 3, 120, 8
    ports = [free_port(), free_port()]
    with serving(StubProvider()) as provider, ExitStack() as stack:

        def start(port: int) -> Killable:
            return stack.enter_context(proxy_process(own_redis, OPERATOR, port=port))[1]

        proxies = [start(port) for port in ports]
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        operator = {"Authorization": f"Bearer {OPERATOR}"}

        def admin(method: str, path: str, body: object = None) -> Any:
            answer = httpx.request(method, f"{urls[0]}/admin{path}", json=body, headers=operator)
            assert answer.is_success, answer.text
            return answer.json() if answer.content else None

        admin("PUT", "/routes/digits", {"upstream": provider})
        made = admin("POST", "/keys", {"name": "tester", "budget": samples * requests})
        heard = asyncio.run(
            _asked(urls, proxies, start, made["key"], encode_npy(pictures(samples)), requests, clients)
        )
        assert heard == [200] * requests
        account = admin("GET", f"/keys/{made['id']}")
        assert (account["spent"], account["reserved"]) == (samples * requests, 0)


async def _asked(
    urls: list[str], proxies: list[Killable], start: Any, key: str, body: bytes, requests: int, clients: int
) -> list[int]:
    """The last status of each request, while one proxy after the other is stopped and started again."""
    statuses: dict[int, int] = {}
    places = iter(range(requests))
    reached = {requests * (number + 1) // 4: asyncio.Event() for number in range(len(urls))}

    async def client(session: aiohttp.ClientSession, number: int) -> None:
        at = number
        for place in places:
            headers = {
                "Authorization": f"Bearer {key}",
                "Content-Type": NPY,
                "Accept": NPY,
                "Idempotency-Key": f"request-{place}",
            }
            while statuses.get(place) != 200:
                at += 1
                url = f"{urls[at % len(urls)]}/v1/models/digits/logits"
                try:
                    async with session.post(url, data=body, headers=headers) as answer:
                        await answer.read()
                        statuses[place] = answer.status
                        if len(statuses) in reached:
                            reached[len(statuses)].set()
                        assert answer.status in (200, 409), await answer.text()
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.01)  # it is restarting

    async def restarts() -> None:
        for number, event in enumerate(reached.values()):
            await event.wait()
            assert await asyncio.to_thread(proxies[number].terminate) in ENDED
            proxies[number] = await asyncio.to_thread(start, int(urls[number].rpartition(":")[2]))

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(restarts(), *(client(session, number) for number in range(clients)))
    return [statuses[place] for place in range(requests)]
