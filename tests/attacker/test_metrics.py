"""What a real worker tells Prometheus of the jobs that its forks did."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.attacker.fleet import fleet_on, probe_job
from tests.attacker.upstream import Upstream
from tests.patience import until
from tests.proxy.servers import serve

KEY = "0123456789abcdef-metrics-of-the-tests"


def test_jobs_of_all_processes_are_counted_by_outcome(
    redis_url: str, tmp_path: Path, unused_tcp_port: int
) -> None:
    place = f"http://127.0.0.1:{unused_tcp_port}/metrics"
    bearer = {"Authorization": f"Bearer {KEY}"}

    def told() -> str:
        return httpx.get(place, headers=bearer).text

    with fleet_on(redis_url, 7, tmp_path) as fleet, serve(Upstream()) as url:
        worker = fleet.start("probe", 2, metrics_port=unused_tcp_port, metrics_key=KEY, retries=0)
        fleet.ready(worker)
        jobs = [probe_job(url, start, start + 4) for start in (0, 4, 8)]
        for job in jobs:
            fleet.send(job)
        for job in jobs:
            assert fleet.heard(job.identity()).state == "done"
        fleet.send(jobs[0])
        lost = probe_job("http://127.0.0.1:9", 0, 4)
        fleet.send(lost)
        assert fleet.end_of(lost.identity()).state == "failed"
        assert fleet.heard(jobs[0].identity()).state == "done"
        expected = {"done": 3, "reused": 1, "failed": 1}
        until(
            lambda: all(
                f'leakrange_fleet_jobs_total{{kind="probe",outcome="{outcome}"}} {number}.0' in told()
                for outcome, number in expected.items()
            ),
            what=told(),
        )
        assert 'leakrange_fleet_job_seconds_count{kind="probe"} 4.0' in told()
        assert httpx.get(place).status_code == 401
        assert httpx.get(place, headers={"Authorization": "Bearer another"}).status_code == 401
