"""Workers that die in the middle of a chunk: the chunk is done, once, and paid once."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from leakrange.data import load
from leakrange.jobs.orders import LEASE
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.store.files import get_array
from leakrange.wire.client import NativeClient
from leakrange.wire.errors import Unavailable
from leakrange.wire.keys import api_key
from leakrange.wire.transport import AiohttpTransport
from tests.attacker.fleet import FACES, FLEET_SECRET, Fleet, Worker, children, fleet_on, probe_job
from tests.attacker.upstream import Upstream, answers
from tests.patience import until
from tests.serving import proxy_process, serving

OPERATOR = "0123456789abcdef-operator-of-the-tests"

QUICK = {"lease_seconds": 2}
"""A killed worker is missed sooner; one that lives says so every 0.6 s."""


@pytest.fixture
def fleet(redis_url: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet_on(redis_url, 2, tmp_path) as fleet:
        yield fleet


@pytest.fixture
def provider() -> Iterator[tuple[Upstream, str]]:
    app = Upstream()
    with serving(app) as url:
        yield app, url
        app.release()


class Account:
    """An attacker's key at a real proxy before the provider."""

    def __init__(self, url: str, provider_url: str) -> None:
        self.url = url
        self._client = httpx.Client(
            base_url=f"{url}/admin", headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=20
        )
        self._ask("PUT", "/routes/digits", {"upstream": provider_url})
        self.key = api_key(FLEET_SECRET, "attacker")
        self._ask("POST", "/keys", {"name": "attacker", "id": "attacker", "key": self.key, "budget": 100})

    def _ask(self, method: str, path: str, json: object = None) -> dict[str, str]:
        answer = self._client.request(method, path, json=json)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else {}  # type: ignore[no-any-return]

    def spent(self) -> int:
        return int(self._ask("GET", "/keys/attacker")["spent"])

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def account(fleet: Fleet, provider: tuple[Upstream, str]) -> Iterator[Account]:
    settings = ProxySettings(redis_url=fleet.redis_url, operator_key=OPERATOR)
    with serving(proxy(settings)) as url:
        account = Account(url, provider[1])
        yield account
        account.close()


def busy_first(fleet: Fleet, job: ProbeJob, workers: list[Worker]) -> list[Worker]:
    """The ``workers``, and the one that has begun ``job`` before the others."""
    (begun,) = fleet.reports(job.identity())
    return sorted(workers, key=lambda worker: f"-{worker.pid}@" not in begun.worker)


def test_another_worker_completes_the_chunk_of_a_killed_one(
    fleet: Fleet, provider: tuple[Upstream, str], account: Account
) -> None:
    app, _ = provider
    app.hold()
    pair = [fleet.start("probe", 1, **QUICK), fleet.start("probe", 1, **QUICK)]
    for worker in pair:
        fleet.ready(worker)
    job = probe_job(account.url, 0, 30, account="attacker")
    fleet.send(job)
    app.wait_for_requests(1)
    first, second = busy_first(fleet, job, pair)
    first.kill()
    killed = time.monotonic()
    # The second comes to it while the proxy still waits for the provider on behalf of the first.
    until(lambda: fleet.states(job.identity()).count("started") >= 2, 15, second.log())
    app.release()
    done = fleet.wait_for(job.identity(), "done", 15 - (time.monotonic() - killed))
    assert f"-{second.pid}@" in done.worker
    assert fleet.states(job.identity()).count("done") == 1
    data = load(FACES)
    expected = answers(data.values[data.where("auxiliary")[:30]])
    np.testing.assert_array_equal(get_array(fleet.releases, f"{job.identity()}.npy"), expected)
    assert [path.name for path in fleet.releases.root.iterdir()] == [f"{job.identity()}.npy"]
    assert len(app.answered) == 1
    assert account.spent() == 30


def test_a_chunk_that_a_killed_proxy_had_in_flight_is_answered_by_the_next(
    fleet: Fleet, provider: tuple[Upstream, str], account: Account
) -> None:
    """The dead proxy's hold on the chunk lasts for longer than the worker's tries."""
    app, _ = provider
    worker = fleet.ready(fleet.start("probe", 1, retries=1, retry_pause=0.05))
    job = probe_job(account.url, 0, 30, account="attacker")
    data = load(FACES)
    images = data.values[data.where("auxiliary")[:30]]

    async def ask(url: str) -> None:
        transport = AiohttpTransport(timeout=20)
        try:
            client = NativeClient(transport, url, account.key)
            await client.query(job.model, "logits", images, idempotency_key=job.identity())
        finally:
            await transport.close()

    def lose(url: str) -> None:
        with pytest.raises(Unavailable):
            asyncio.run(ask(url))

    app.hold()
    with proxy_process(fleet.redis_url, OPERATOR, upstream_timeout=3, reservation_seconds=4) as (url, doomed):
        asking = threading.Thread(target=lose, args=(url,))
        asking.start()
        app.wait_for_requests(1)
        doomed.kill()
    asking.join()
    app.release()
    end = fleet.end_of(fleet.send(job), 60)
    assert end.state == "done", worker.log()
    np.testing.assert_array_equal(get_array(fleet.releases, f"{job.identity()}.npy"), answers(images))
    assert account.spent() == 30


def test_a_chunk_outlives_the_process_that_was_at_it(fleet: Fleet, provider: tuple[Upstream, str]) -> None:
    """Only the fork is killed, as the kernel does for want of memory: the lease it leaves must not hide the
    job."""
    app, url = provider
    app.hold()
    worker = fleet.ready(fleet.start("probe", 1, **QUICK))
    job = probe_job(url, 0, 5)
    fleet.send(job)
    app.wait_for_requests(1)
    assert 0 < int(fleet.redis.pttl(LEASE.format(identity=job.identity()))) <= 2000  # type: ignore[arg-type]
    (fork,) = children(worker.pid)
    os.kill(fork, signal.SIGKILL)
    app.release()
    fleet.wait_for(job.identity(), "done", 15)
    assert len(app.requests) == 2
    assert {request["idempotency-key"] for request in app.requests} == {job.identity()}


def test_a_worker_that_is_told_to_stop_finishes_its_chunk(
    fleet: Fleet, provider: tuple[Upstream, str]
) -> None:
    app, url = provider
    app.hold()
    worker = fleet.ready(fleet.start("probe", 1))
    job = probe_job(url, 0, 5)
    fleet.send(job)
    app.wait_for_requests(1)
    worker.process.terminate()
    until(lambda: "Warm shutdown" in worker.log(), 10, worker.log())
    app.release()
    assert worker.process.wait(20) == 0, worker.log()
    assert fleet.states(job.identity()) == ["started", "done"]
    fleet.wait_until_idle(1)
