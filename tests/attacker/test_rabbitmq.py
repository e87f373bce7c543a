"""A fleet whose messages come through RabbitMQ: real workers, a real broker, and what is lost with either."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from leakrange.jobs.steps.fit import FitJob
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.controller.range import fleet as controllers
from leakrange.services.controller.range.fleet import Fleet as ControllersSide
from tests.attacker.fleet import Fleet, fleet_on, probe_job
from tests.attacker.upstream import Upstream
from tests.patience import until
from tests.rabbitmq import RabbitMQ
from tests.serving import serving


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    server = RabbitMQ(tmp_path_factory.mktemp("rabbitmq"))
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture
def fleet(redis_url: str, rabbitmq: RabbitMQ, tmp_path: Path) -> Iterator[Fleet]:
    with fleet_on(redis_url, 5, tmp_path, rabbitmq.url) as fleet:
        yield fleet


@pytest.fixture
def provider() -> Iterator[tuple[Upstream, str]]:
    app = Upstream()
    with serving(app) as url:
        yield app, url
        app.release()


def test_jobs_come_through_rabbitmq_and_no_worker_takes_more_than_it_can_do(
    fleet: Fleet, rabbitmq: RabbitMQ, provider: tuple[Upstream, str]
) -> None:
    app, url = provider
    app.hold()
    worker = fleet.ready(fleet.start("probe", concurrency=2))
    jobs = [fleet.send(probe_job(url, start, start + 2)) for start in range(0, 12, 2)]
    app.wait_for_requests(2)
    until(lambda: rabbitmq.waiting("probe") == 4, what="four messages to stay in the queue")
    other = fleet.ready(fleet.start("probe", concurrency=3))  # what the first one holds is not hidden from it
    app.wait_for_requests(5)
    app.release()
    workers = {fleet.wait_for(identity, "done").worker for identity in jobs}
    assert {name.partition("@")[0] for name in workers} == {f"probe-{each.pid}" for each in (worker, other)}
    assert len(app.answered) == len(set(app.answered)) == len(jobs)
    assert rabbitmq.waiting("probe") == 0
    assert not fleet.redis.exists("probe")  # Redis has no part in it


def test_what_a_killed_worker_had_begun_and_what_it_had_not_are_both_done(
    fleet: Fleet, rabbitmq: RabbitMQ, provider: tuple[Upstream, str]
) -> None:
    app, url = provider
    app.hold()
    worker = fleet.ready(fleet.start("probe", concurrency=1, lease_seconds=2))
    jobs = [fleet.send(probe_job(url, start, start + 1)) for start in range(20, 23)]
    app.wait_for_requests(1)
    worker.kill()
    app.release()
    fleet.ready(fleet.start("probe", concurrency=1, lease_seconds=2))
    for identity in jobs:
        assert fleet.wait_for(identity, "done").data["samples"] == 1
    until(lambda: rabbitmq.waiting("probe") == 0)


def test_workers_and_controller_come_back_to_a_broker_that_restarts(
    fleet: Fleet, rabbitmq: RabbitMQ, provider: tuple[Upstream, str]
) -> None:
    app, url = provider
    app.hold()
    worker = fleet.ready(fleet.start("probe", concurrency=1))
    before = [fleet.send(probe_job(url, start, start + 1)) for start in range(30, 33)]
    app.wait_for_requests(1)
    rabbitmq.kill()
    meanwhile = fleet.send(probe_job(url, 33, 34))
    app.release()
    # The one that was begun ends all the same: its report goes through Redis.
    until(lambda: any("done" in fleet.states(identity) for identity in before))
    rabbitmq.start()
    for identity in [*before, meanwhile]:
        assert fleet.wait_for(identity, "done").data["samples"] == 1
    assert worker.process.poll() is None


@pytest.mark.parametrize("lost", ["messages", "queue"])
async def test_the_controller_sends_again_what_the_broker_lost_and_leaves_alone_what_waits(
    redis_url: str, rabbitmq: RabbitMQ, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controllers, "LOOK_EVERY", 3600.0)
    monkeypatch.setattr(controllers, "LOST_AFTER", 0.0)
    fleet = ControllersSide(redis_url, rabbitmq.url)
    await fleet.start()
    try:
        job = FitJob(attack="attribute-inference", evidence={"auxiliary": [["a" * 64]]}, seed=1)
        asked = asyncio.create_task(fleet.run(job))
        await asyncio.sleep(0)

        async def look() -> int:
            for _ in range(2):
                await asyncio.gather(*(each.sending for each in fleet._pending.values() if each.sending))
                await fleet._look()
            await asyncio.gather(*(each.sending for each in fleet._pending.values() if each.sending))
            return await asyncio.to_thread(rabbitmq.waiting, "fit")

        assert [await look() for _ in range(3)] == [1, 1, 1]
        await asyncio.to_thread(rabbitmq.purge if lost == "messages" else rabbitmq.delete, "fit")
        assert await look() == 1
        asked.cancel()
        await asyncio.wait([asked])
    finally:
        await asyncio.to_thread(rabbitmq.delete, "fit")
        await fleet.stop()


async def test_a_controller_says_that_rabbitmq_does_not_answer(
    redis_url: str, rabbitmq: RabbitMQ, unused_tcp_port: int
) -> None:
    there, gone = (
        ControllersSide(redis_url, url) for url in (rabbitmq.url, f"amqp://127.0.0.1:{unused_tcp_port}//")
    )
    await there.ping_broker()
    with pytest.raises(OSError, match="RabbitMQ does not answer"):
        await gone.ping_broker()
    await there.stop()
    await gone.stop()


def test_a_broker_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_BROKER_URL", "sqs://queue")
    with pytest.raises(ValidationError, match="RabbitMQ \\(amqp://"):
        FleetSettings()
