"""What the controller's `/metrics` tells of runs, trials and the fleet, and to whom."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest
import redis.asyncio as aioredis
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from leakrange.jobs.orders import REPORTS, JobReport
from leakrange.jobs.steps.fit import FitJob
from leakrange.services.controller.metrics import RangeGauges
from leakrange.services.controller.range.fleet import Fleet
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.engine import Database
from leakrange.store.migrate import upgrade
from tests.conftest import start_redis
from tests.controller.conftest import TRIALS, Api, problem, serve
from tests.patience import until

KEY = "0123456789abcdef-metrics-of-the-tests"


def told(text: str) -> dict[tuple[str, ...], float]:
    """Samples by name and values of labels."""
    families = text_string_to_metric_families(text)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def fit(seed: int) -> FitJob:
    return FitJob(attack="attribute-inference", evidence={"seed": seed}, seed=seed)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    url = f"sqlite+aiosqlite:///{tmp_path / 'range.db'}"
    await asyncio.to_thread(upgrade, url)
    made = Database(url)
    yield made
    await made.close()


async def test_the_fleets_queues_and_its_jobs_are_told(empty_redis_url: str, database: Database) -> None:
    registry = CollectorRegistry()
    fleet = Fleet(empty_redis_url, "", registry)
    standing = RangeGauges(database, fleet, registry)

    async def now() -> dict[tuple[str, ...], float]:
        await standing.refresh()
        return told(generate_latest(registry).decode())

    client = aioredis.Redis.from_url(empty_redis_url, decode_responses=True)
    await fleet.start()
    try:
        asked = [asyncio.create_task(fleet.run(fit(seed))) for seed in range(3)]
        await asyncio.sleep(0)
        await asyncio.gather(*(each.sending for each in fleet._pending.values() if each.sending))
        counted = await now()
        assert counted["leakrange_controller_queue_waiting", "fit"] == 3
        assert counted["leakrange_controller_queue_waiting", "probe"] == 0
        assert counted["leakrange_controller_jobs_pending", "fit"] == 3
        await client.lpop("fit")
        for state in ("started", "progress", "done"):
            report = JobReport(identity=fit(1).identity(), kind="fit", state=state, worker="w")
            await client.xadd(REPORTS, {"json": report.model_dump_json()})
        await asked[1]
        counted = await now()
        assert counted["leakrange_controller_queue_waiting", "fit"] == 2
        assert counted["leakrange_controller_jobs_pending", "fit"] == 2
        assert counted["leakrange_controller_job_reports_total", "fit", "done"] == 1
        assert ("leakrange_controller_job_reports_total", "fit", "progress") not in counted
        assert counted["leakrange_controller_job_seconds_count", "fit"] == 1
        for task in (asked[0], asked[2]):
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
    finally:
        await fleet.stop()
        await client.aclose()


async def test_what_cannot_be_read_now_is_left_out(tmp_path: Path, database: Database) -> None:
    server, port = start_redis(tmp_path)
    registry = CollectorRegistry()
    fleet = Fleet(f"redis://127.0.0.1:{port}/0", "", registry)
    standing = RangeGauges(database, fleet, registry)
    try:
        await standing.refresh()
        assert ("leakrange_controller_queue_waiting", "fit") in told(generate_latest(registry).decode())
        server.kill()
        server.wait()
        await standing.refresh()
        counted = told(generate_latest(registry).decode())
        assert not [name for name in counted if name[0] == "leakrange_controller_queue_waiting"]
        assert counted["leakrange_controller_runs", "done"] == 0
    finally:
        server.kill()
        await fleet.stop()


def test_runs_and_their_trials_are_counted_by_state(api: Api, standing: str) -> None:
    def counted() -> dict[tuple[str, ...], float]:
        return told(httpx.get(f"{standing}/metrics").text)

    before = counted()
    run = api.start()
    until(lambda: api.get(f"/v1/runs/{run}")["state"] == "running")
    now = counted()
    assert now["leakrange_controller_runs", "running"] == 1
    assert now["leakrange_controller_trials", "queued"] == TRIALS
    api.cancel(run)
    after = counted()
    assert after["leakrange_controller_trials", "queued"] == 0
    cancelled = ("leakrange_controller_runs", "cancelled")
    assert after[cancelled] == before[cancelled] + 1


def test_with_a_metrics_key_they_are_told_to_whoever_shows_it_alone(
    settings: Callable[..., ControllerSettings],
) -> None:
    with serve(settings(metrics_key=KEY)) as url:
        problem(httpx.get(f"{url}/metrics"), 401, "unauthenticated")
        problem(
            httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {KEY[:-1]}"}), 403, "forbidden"
        )
        shown = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {KEY}"})
        assert re.search(r'^leakrange_controller_runs\{state="queued"\} 0', shown.text, re.M)
