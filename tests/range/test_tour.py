"""The short tour as it stands in docs/start.md; and a range that is stood up again has lost nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.docs.blocks import sections
from tests.embedded import EmbeddedRange, alive, clean, wait_for
from tests.range.conftest import FIRST, Controller, Finished, job, scenario, significant

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def place(embedded_range: EmbeddedRange, tmp_path: Path) -> Path:
    """A folder that looks like the repository, with the range of these tests and scenarios that are quick."""
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    (tmp_path / ".leakrange").symlink_to(embedded_range.root)
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "demo.yaml").write_text(FIRST)
    under_load = yaml.safe_load(FIRST) | {"load": {"users": {"attribute": 2}}}
    (tmp_path / "scenarios" / "load.yaml").write_text(yaml.safe_dump(under_load))
    return tmp_path


def tour() -> list[str]:
    """The commands, the first of which makes `leakrange` known to the shell."""
    [block] = sections("docs/start.md", "A short tour")
    return [line.partition("  #")[0].strip() for line in block.text.splitlines()]


def follow(lines: list[str], place: Path) -> str:
    """What the shell prints that follows them."""
    done = subprocess.run(
        ["bash", "-euc", "\n".join(lines)],
        cwd=place,
        env=clean() | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def keys(embedded: EmbeddedRange) -> dict[str, dict[str, Any]]:
    """All API keys that the proxy knows, by id."""
    record = embedded.record
    answer = httpx.get(
        f"{record.proxy}/admin/keys", headers={"Authorization": f"Bearer {record.operator_key}"}, timeout=60
    )
    return {key["id"]: key for key in answer.raise_for_status().json()["keys"]}


def test_the_tour_and_a_range_that_comes_back_with_budgets_keys_and_runs(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange, place: Path
) -> None:
    activate, up, *visits, down = tour()
    assert (up, down) == ("leakrange up --detach", "leakrange down")
    said = follow([activate, *visits], place)  # the range stands already
    assert "provider-curious" in said
    assert "synthfaces" in said
    for report in ("report.html", "load.html"):
        assert (place / report).read_text().lower().startswith("<!doctype html>")
    key = embedded_range("keys", "create", "a visitor", "--budget", "7").stdout.strip()
    run = controller.start(scenario("put-down", defences=significant(3), chunk=4))
    controller.until(run, job("probe"))
    processes = embedded_range.pids()
    before = {name: entry for name, entry in keys(embedded_range).items() if run not in entry["name"]}
    assert {entry["spent"] for entry in before.values()} >= {0, 192}

    follow([activate, down], place)
    wait_for(lambda: not any(alive(pid) for pid in processes), "all processes to be gone")
    assert embedded_range("status").returncode == 3
    follow([activate, f"{up} --traces --ports 0"], place)  # its usual ports may be taken
    record = embedded_range.record
    controller.client.base_url = record.controller

    after = keys(embedded_range)
    assert {name: after.get(name) for name in before} == before
    opened = httpx.get(f"{record.proxy}/v1/models", headers={"Authorization": f"Bearer {key}"}, timeout=60)
    assert opened.status_code == 200
    assert controller.ask("GET", f"/v1/runs/{first.id}/results").json() == first.results
    over = controller.finished(run)
    over.check(2)
    assert over.account("attacker", "honest-s0.figures-3.q0")["spent"] == 192
    again = controller.run(FIRST)
    again.check(4)
    assert again.account("attacker", "honest-s0.none.q0")["spent"] == 0
    assert again.trials == first.trials
