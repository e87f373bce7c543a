"""A PostgreSQL server that dies in the middle of a run: the run waits for it and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.controller.conftest import problem
from tests.controller.events import events
from tests.databases import Databases
from tests.embedded import EmbeddedRange, wait_for
from tests.range.conftest import PATIENCE, another, job, scenario, second, significant

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Databases]:
    """A server that no other test uses."""
    made = Databases(tmp_path, killed=True)
    made.postgres()
    yield made
    made.stop()


def test_a_run_outlives_its_database_server(
    embedded_range: EmbeddedRange, own_server: Databases, tmp_path: Path
) -> None:
    curious = embedded_range.record.url("provider-curious")
    database = own_server.empty("postgresql")
    chosen = second(embedded_range, tmp_path, curious=curious, database_url=database)
    with another(embedded_range, chosen) as other, ThreadPoolExecutor(1) as apart:
        run = other.start(scenario("database-killed", defences=significant(5), chunk=4))
        followed = apart.submit(lambda: list(events(other.client, run)))  # in one answer
        other.until(run, job("probe"))
        own_server.kill()
        told = problem(other.client.get(f"/v1/runs/{run}"), 503, "database-away")
        assert "the database server does not answer" in told["detail"]
        assert "start it again" in told["hint"]
        own_server.start_again()
        wait_for(lambda: other.client.get("/readyz").is_success, "the controller to be ready", PATIENCE)
        over = other.finished(run)
        assert followed.result() == over.events
    over.check(2)
    assert over.view["jobs"]["probe"]["total"] == 48
    assert over.account("attacker", "honest-s0.figures-5.q0")["spent"] == 192
