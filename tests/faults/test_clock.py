"""Clocks that jump: that of Redis decides when reservations, leases and kept answers end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest

from leakrange.jobs.orders import LEASE
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.wire.tensors import encode_npy
from tests.attacker.fleet import Fleet, probe_job
from tests.attacker.upstream import Upstream
from tests.faults.clock import ClockedRedis, clocked_redis
from tests.patience import until
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, values
from tests.proxy.servers import Gate, StubProvider, clean
from tests.serving import serving

HOUR = 3600


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[ClockedRedis]:
    with clocked_redis(tmp_path) as made:
        yield made


@pytest.fixture
def behind_a_clock(clocked: ClockedRedis) -> Iterator[Range]:
    """A proxy on that Redis, with a provider behind it."""
    stub = StubProvider()
    told = ProxySettings(redis_url=clocked.url, operator_key=OPERATOR)
    with serving(stub) as upstream, serving(proxy(told)) as url, httpx.Client(timeout=20) as client:
        made = Range(url, stub, upstream, client, clocked.url)
        made.admin("PUT", "/routes/digits", {"upstream": upstream})
        yield made


@dataclass
class InFlight:
    """A request of 6 samples whose answer the provider holds back."""

    live: Range
    key: str

    def __post_init__(self) -> None:
        self._gate, self._answers = Gate(), list[httpx.Response]()
        self.live.provider.before = self._gate
        self._asking = threading.Thread(target=self._ask)
        self._asking.start()
        assert self._gate.waiting.acquire(timeout=10)
        self.live.provider.before = None

    def _ask(self) -> None:
        sent = encode_npy(pictures(6))
        self._answers.append(self.live.post(self.key, "logits", sent, Idempotency_Key="held"))

    def answered(self) -> httpx.Response:
        self._gate.open()
        self._asking.join()
        return self._answers[0]


def test_a_reservation_that_a_jump_ahead_has_ended_is_paid_where_it_still_can_be(
    behind_a_clock: Range, clocked: ClockedRedis
) -> None:
    live = behind_a_clock
    held = InFlight(live, live.key(10))
    clocked.jump(HOUR)
    live.post(held.key, "logits", encode_npy(pictures(4)), Idempotency_Key="other")
    assert (live.account()["spent"], live.account()["reserved"]) == (4, 0)  # it was given back
    np.testing.assert_array_equal(values(held.answered()), clean("logits", pictures(6)))
    assert (live.account()["spent"], live.account()["reserved"]) == (10, 0)


def test_an_answer_whose_samples_went_to_others_after_a_jump_is_withheld(
    behind_a_clock: Range, clocked: ClockedRedis
) -> None:
    live = behind_a_clock
    held = InFlight(live, live.key(10))
    clocked.jump(HOUR)
    live.post(held.key, "logits", encode_npy(pictures(10)), Idempotency_Key="other")
    problem(held.answered(), 503, "unavailable")
    assert (live.account()["spent"], live.account()["reserved"]) == (10, 0)


def test_a_jump_back_costs_nobody_a_sample(behind_a_clock: Range, clocked: ClockedRedis) -> None:
    """What is in flight is paid, and what was answered is answered from memory."""
    live = behind_a_clock
    clocked.jump(HOUR)
    held = InFlight(live, live.key(10))
    clocked.jump(0)
    live.query(held.key, pictures(3), Idempotency_Key="first")
    live.query(held.key, pictures(3), Idempotency_Key="first")
    np.testing.assert_array_equal(values(held.answered()), clean("logits", pictures(6)))
    account = live.account()
    assert (account["spent"], account["reserved"], account["replays"]) == (9, 0, 1)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_worker_keeps_its_job_when_the_clock_jumps(
    clocked: ClockedRedis, tmp_path: Path, jump: int
) -> None:
    app, fleet = Upstream(), Fleet(clocked.url, tmp_path)
    with serving(app) as url:
        try:
            worker = fleet.ready(fleet.start("probe", 2, lease_seconds=1))
            app.hold()
            job = probe_job(url, 0, 5)
            fleet.send(job)
            app.wait_for_requests(1)
            clocked.jump(jump)
            name = LEASE.format(identity=job.identity())
            if jump > 0:
                until(lambda: fleet.redis.exists(name) == 0, 5, "the lease to have run out")
            until(lambda: 0 < int(fleet.redis.pttl(name)) <= 1000, 5, "the worker to have it again")  # type: ignore[arg-type]
            app.release()
            assert fleet.wait_for(job.identity(), "done", 20).data["samples"] == 5, worker.log()
            assert fleet.states(job.identity()) == ["started", "done"]
            assert len(app.requests) == 1
        finally:
            app.release()
            fleet.close()


def test_reports_are_heard_after_redis_lost_its_data_and_its_clock_went_back(
    clocked: ClockedRedis, tmp_path: Path
) -> None:
    """The stream of reports begins anew, with earlier entries than the last that was heard."""
    app, fleet = Upstream(), Fleet(clocked.url, tmp_path)
    with serving(app) as url:
        try:
            fleet.ready(fleet.start("probe", 1, lease_seconds=1))
            before, after = probe_job(url, 0, 5), probe_job(url, 5, 9)
            clocked.jump(HOUR)
            assert fleet.heard(fleet.send(before)).state == "done"
            clocked.kill()
            clocked.jump(0)
            clocked.start_again()
            assert fleet.heard(fleet.send(after)).state == "done"
            assert app.answered == [before.identity(), after.identity()]
        finally:
            fleet.close()
