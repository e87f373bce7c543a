"""Jobs sent to the fleet through a real broker; the test is the worker, as `leakrange.jobs.orders` has it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import redis.asyncio as aioredis

from leakrange.jobs.orders import CANCEL, LEASE, ORDER, REPORTS, JobReport, Order
from leakrange.jobs.steps.fit import FitJob
from leakrange.services.controller.range import fleet as module
from leakrange.services.controller.range.fleet import Fleet, FleetJobFailed
from leakrange.wire.errors import Unavailable
from tests.conftest import start_redis


def job(seed: int = 0) -> FitJob:
    return FitJob(
        attack="attribute-inference",
        evidence={"auxiliary": [["a" * 64]], "observed": [["b" * 64]]},
        seed=seed,
    )


class Worker:
    """What a worker of the fleet does with Redis, one step at a time."""

    def __init__(self, client: aioredis.Redis) -> None:
        self.redis = client

    async def take(self) -> Order:
        """The order of the next job, once a message about it is in the queue."""
        found = await self.redis.blpop(["fit"], timeout=30)
        assert found is not None, "no job was sent"
        body = orjson.loads(base64.b64decode(orjson.loads(found[1])["body"]))
        [identity] = body[0]
        return Order.model_validate_json(await self.redis.get(ORDER.format(identity=identity)))

    async def waiting(self) -> int:
        return int(await self.redis.llen("fit"))

    async def lease(self, of: FitJob, milliseconds: int = 5000) -> None:
        await self.redis.set(LEASE.format(identity=of.identity()), "a worker", px=milliseconds)

    async def report(self, of: FitJob, state: Any, message: str = "", **data: Any) -> None:
        said = JobReport(
            identity=of.identity(), kind="fit", state=state, worker="w", message=message, data=data
        )
        await self.redis.xadd(REPORTS, {"json": said.model_dump_json()})

    async def cancelled(self, of: FitJob) -> bool:
        return bool(await self.redis.exists(CANCEL.format(identity=of.identity())))


@pytest.fixture
async def worker(empty_redis_url: str) -> AsyncIterator[Worker]:
    client = aioredis.Redis.from_url(empty_redis_url, decode_responses=True)
    yield Worker(client)
    await client.aclose()


@pytest.fixture
async def fleet(empty_redis_url: str) -> AsyncIterator[Fleet]:
    made = Fleet(empty_redis_url)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def doubting(empty_redis_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    """It looks after its jobs when the test says so, and whatever it sees a second time it acts upon."""
    monkeypatch.setattr(module, "LOOK_EVERY", 3600.0)
    monkeypatch.setattr(module, "LOST_AFTER", 0.0)
    made = Fleet(empty_redis_url)
    await made.start()
    yield made
    await made.stop()


async def look(fleet: Fleet, times: int = 2) -> None:
    """Have it look after its jobs, and wait until what it sends is sent."""
    for _ in range(times):
        await fleet._look()
        await asyncio.gather(*(each.sending for each in fleet._pending.values() if each.sending))


async def sent(fleet: Fleet) -> asyncio.Task[JobReport]:
    """The job, in its queue."""
    asked = asyncio.create_task(fleet.run(job()))
    await asyncio.sleep(0)
    sending = fleet._pending[job().identity()].sending
    assert sending is not None
    await sending
    return asked


async def test_a_job_is_sent_as_the_contract_says_and_its_end_is_heard(fleet: Fleet, worker: Worker) -> None:
    heard: list[JobReport] = []
    asked = asyncio.create_task(fleet.run(job(), heard.append))
    assert (await worker.take()).job == job()
    await worker.report(job(), "started")
    await worker.report(job(), "done", seconds=1.5)
    report = await asked
    assert (report.state, report.data) == ("done", {"seconds": 1.5})
    assert [each.state for each in heard] == ["started", "done"]


async def test_a_failure_carries_the_workers_own_words(fleet: Fleet, worker: Worker) -> None:
    asked = asyncio.create_task(fleet.run(job()))
    await worker.take()
    await worker.report(job(), "failed", "the proxy said no")
    with pytest.raises(FleetJobFailed, match="the proxy said no"):
        await asked
    again = asyncio.create_task(fleet.run(job()))  # and a later caller has it tried once more
    await worker.take()
    await worker.report(job(), "done")
    await again


async def test_runs_that_want_the_same_job_share_it_and_one_may_leave(fleet: Fleet, worker: Worker) -> None:
    begun: list[str] = []

    async def note(who: str) -> None:
        begun.append(who)

    first = asyncio.create_task(fleet.run(job(), before_sending=lambda: note("first")))
    second = asyncio.create_task(fleet.run(job(), before_sending=lambda: note("second")))
    other = asyncio.create_task(fleet.run(job(seed=1)))
    await worker.take()
    await worker.take()
    assert begun == ["first"]
    first.cancel()
    await asyncio.wait([first])
    await fleet.cancel({job().identity()})
    assert not await worker.cancelled(job())
    await worker.report(job(), "done")
    assert (await second).state == "done"
    await worker.report(job(seed=1), "done")
    assert (await other).state == "done"
    assert await worker.waiting() == 0


async def test_one_that_leaves_while_the_job_is_being_sent_takes_it_from_nobody(
    fleet: Fleet, worker: Worker
) -> None:
    gate = asyncio.Event()

    async def hold() -> None:
        await gate.wait()

    first = asyncio.create_task(fleet.run(job(), before_sending=hold))
    second = asyncio.create_task(fleet.run(job()))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    gate.set()
    await worker.take()
    await worker.report(job(), "done")
    assert (await second).state == "done"


async def test_a_job_that_nobody_wants_any_more_is_dropped_and_can_be_wanted_again(
    fleet: Fleet, worker: Worker
) -> None:
    asked = asyncio.create_task(fleet.run(job()))
    await worker.take()
    asked.cancel()
    await asyncio.wait([asked])
    await fleet.cancel({job().identity(), job(seed=1).identity()})
    assert await worker.cancelled(job())
    assert not await worker.cancelled(job(seed=1))  # nobody had asked for it
    again = asyncio.create_task(fleet.run(job()))
    await worker.take()
    assert not await worker.cancelled(job())
    # The worker had been told of the cancellation before; its late word is not about this request.
    await worker.report(job(), "failed", "cancelled")
    await worker.take()
    await worker.report(job(), "done")
    assert (await again).state == "done"


async def test_a_job_whose_worker_died_is_sent_again(doubting: Fleet, worker: Worker) -> None:
    asked = await sent(doubting)
    await worker.take()
    await worker.lease(job())
    await worker.report(job(), "started")
    await look(doubting)
    assert await worker.waiting() == 0
    await worker.redis.delete(LEASE.format(identity=job().identity()))
    await look(doubting)
    assert (await worker.take()).job == job()
    await worker.report(job(), "done")
    await asked


async def test_a_job_that_kills_its_workers_is_given_up(doubting: Fleet, worker: Worker) -> None:
    asked = await sent(doubting)
    for _ in range(5):
        assert not asked.done()
        await worker.take()
        await worker.lease(job())
        await look(doubting)
        await worker.redis.delete(LEASE.format(identity=job().identity()))
        await look(doubting)
    with pytest.raises(FleetJobFailed, match="5 workers died"):
        await asked
    assert await worker.waiting() == 0


async def test_a_postponed_job_is_sent_again_with_the_tries_so_far(fleet: Fleet, worker: Worker) -> None:
    asked = asyncio.create_task(fleet.run(job()))
    await worker.take()
    await worker.report(job(), "postponed", seconds=0.05, attempt=2, until=1e12)
    assert await worker.take() == Order(job=job(), attempt=2, until=1e12)
    await worker.report(job(), "done")
    await asked


async def test_a_lease_that_was_seen_counts_as_a_beginning(doubting: Fleet, worker: Worker) -> None:
    """After a restart of the controller another worker drops what is sent again, and no beginning is
    reported.
    """
    await worker.lease(job())
    asked = await sent(doubting)
    await worker.take()
    await worker.redis.rpush("fit", b"something else, so that the queue is not empty")
    await look(doubting)
    assert await worker.waiting() == 1
    await worker.redis.delete(LEASE.format(identity=job().identity()))
    await look(doubting)
    assert await worker.waiting() == 2
    await worker.report(job(), "done")
    await asked


async def test_a_job_that_the_broker_lost_is_sent_again(doubting: Fleet, worker: Worker) -> None:
    asked = await sent(doubting)
    await worker.take()  # nobody leases it, nobody reports
    await look(doubting)
    await worker.take()
    await worker.report(job(), "done")
    await asked


async def test_a_job_that_waits_in_its_queue_is_left_alone(doubting: Fleet, worker: Worker) -> None:
    asked = await sent(doubting)
    await look(doubting, 5)
    assert await worker.waiting() == 1
    await worker.take()
    await worker.report(job(), "done")
    await asked


async def test_nonsense_in_the_stream_harms_nobody(fleet: Fleet, worker: Worker) -> None:
    asked = asyncio.create_task(fleet.run(job()))
    await worker.take()
    await worker.redis.xadd(REPORTS, {"json": "{"})
    await worker.redis.xadd(REPORTS, {"other": "x"})
    await worker.report(job(seed=7), "done")
    await worker.report(job(), "done")
    await asked


async def test_a_broker_that_restarts_is_waited_for(tmp_path: Path) -> None:
    process, port = start_redis(tmp_path)
    fleet = Fleet(f"redis://127.0.0.1:{port}/0")
    await fleet.start()
    process.kill()
    process.wait()
    with pytest.raises(OSError, match="Redis does not answer"):
        await fleet.ping()
    asked = asyncio.create_task(fleet.run(job()))
    await asyncio.sleep(0)
    process, _ = await asyncio.to_thread(start_redis, tmp_path, port)
    client = aioredis.Redis.from_url(f"redis://127.0.0.1:{port}/0", decode_responses=True)
    try:
        worker = Worker(client)
        await worker.take()
        await worker.report(job(), "done")
        async with asyncio.timeout(30):
            await asked
    finally:
        await client.aclose()
        await fleet.stop()
        process.kill()
        process.wait()


async def test_a_broker_that_stays_away_fails_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEND_FOR", 0.0)
    process, port = start_redis(tmp_path)
    fleet = Fleet(f"redis://127.0.0.1:{port}/0")
    await fleet.start()
    process.kill()
    process.wait()
    with pytest.raises(Unavailable, match="Redis"):
        async with asyncio.timeout(60):
            await fleet.run(job())
    await fleet.stop()


async def test_a_job_that_was_lost_with_the_brokers_data_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis comes back empty: without the queue, the job in it, and what Celery had declared."""
    for pause, seconds in (("LOOK_EVERY", 3600.0), ("LOST_AFTER", 0.0)):
        monkeypatch.setattr(module, pause, seconds)
    process, port = start_redis(tmp_path)
    fleet = Fleet(f"redis://127.0.0.1:{port}/0")
    await fleet.start()
    asked = await sent(fleet)
    process.kill()
    process.wait()
    process, _ = await asyncio.to_thread(start_redis, tmp_path, port)
    client = aioredis.Redis.from_url(f"redis://127.0.0.1:{port}/0", decode_responses=True)
    try:
        worker = Worker(client)
        assert await worker.waiting() == 0
        await look(fleet)
        assert (await worker.take()).job == job()
        await worker.report(job(), "done")
        async with asyncio.timeout(30):
            await asked
    finally:
        await client.aclose()
        await fleet.stop()
        process.kill()
        process.wait()
