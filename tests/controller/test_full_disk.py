"""A controller whose disk is full: it says so, no run hangs, and it goes on once there is room."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx

from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import SCENARIO, Api, problem, serve
from tests.disks import fill, small_disk
from tests.embedded import wait_for


def test_a_run_that_cannot_be_recorded_fails_with_the_disk(
    settings: Callable[..., ControllerSettings], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        # Nobody is there to take its policies: the run fails after some tries, when there is no room left.
        chosen = settings(database_url=f"sqlite:///{disk}/range.db", attempts=4)
        with serve(chosen) as url, httpx.Client(base_url=url, timeout=90) as client:
            api = Api(client)
            run = api.start()
            filler = fill(disk)
            told = api.ask("GET", f"/v1/runs/{run}/events").text  # to its end
            [*_, last] = [line for line in told.splitlines() if line.startswith("data: ")]
            assert json.loads(last.removeprefix("data: "))["state"] == "failed"
            view = api.get(f"/v1/runs/{run}")
            assert view["state"] == "failed"
            assert view["error"]
            refused = problem(api.post(SCENARIO), 507, "storage-full")
            assert str(disk) in refused["detail"]
            filler.unlink()
            numbered = re.compile(r"^event: run.finished\ndata: .*\nid: [0-9]+$", re.MULTILINE)
            wait_for(
                lambda: numbered.search(api.ask("GET", f"/v1/runs/{run}/events").text) is not None,
                "the end of the run is written down",
                60,
            )
            assert api.get(f"/v1/runs/{run}")["state"] == "failed"
            assert api.post(SCENARIO).status_code == 202
