"""Runs under load from end to end: the command, Locust's users, a proxy with limits, and the figures."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.embedded import EmbeddedRange, clean
from tests.range.conftest import Controller, job, scenario

QUESTIONS, CHUNK = 160, 8
LOAD = {
    "users": {"honest": 1, "attribute": 2, "botnet": 2},
    "shape": {"kind": "ramp", "seconds": 1},
    "keys": 3,
    "limits": {"pace": [{"kind": "window", "samples": 16, "seconds": 1}]},
}


def loaded(name: str, **load: object) -> str:
    """Both providers' models are those of all other tests; only the honest one is attacked from outside."""
    read = yaml.safe_load(
        scenario(name, budgets=[40, QUESTIONS], chunk=CHUNK, defences={"none": [], "label-only": ["argmax"]})
    )
    del read["providers"]["curious"], read["attacks"]["inside"]
    return yaml.safe_dump(read | {"load": LOAD | load}, sort_keys=False)


def test_a_scenario_under_load_from_the_command_to_the_figures(
    embedded_range: EmbeddedRange, controller: Controller, tmp_path: Path
) -> None:
    path, page, picture, table = (tmp_path / name for name in ("s.yaml", "r.html", "p.svg", "t.csv"))
    path.write_text(loaded("under-load"))
    done = embedded_range(
        "load", str(path), "--report", str(page), "--picture", str(picture), "--table", str(table)
    )
    assert done.returncode == 0, done.stderr
    newest = controller.ask("GET", "/v1/runs?limit=1").json()["runs"][0]["id"]
    run = controller.finished(newest)
    assert run.view["state"] == "done", run.view["error"]
    attackers = [entry for entry in run.results["ledger"] if ".attacker." in entry["name"]]
    assert len(attackers) == 2 * 3  # under each defence, as many keys
    assert sum(entry["spent"] for entry in attackers) == 2 * QUESTIONS
    for entry in attackers:
        assert entry["spent"] == entry["distinct"] == entry["budget"], entry
    (part,) = run.results["load"]["parts"].values()
    assert part["workers"] == 1
    counts = {
        what: sum(line[what] for line in part["measured"] if line["user"] != "honest")
        for what in ("answered", "refused", "failed")
    }
    assert counts["answered"] == 2 * QUESTIONS / CHUNK
    assert counts["refused"] > 0  # a key has 16 samples in a second
    assert counts["failed"] == 0
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [(row["defence"], row["spent"]) for row in rows] == [
        (defence, f"{budget}.0") for defence in ("none.pace", "label-only.pace") for budget in (40, QUESTIONS)
    ]
    assert all(float(row["p99"]) >= float(row["p50"]) > 0 for row in rows)
    assert "Under load" in page.read_text()
    assert picture.read_text().startswith("<svg")


@pytest.mark.slow
def test_neither_a_killed_locust_nor_a_killed_controller_loses_anything(
    embedded_range: EmbeddedRange, controller: Controller
) -> None:
    text = loaded("killed", users={"attribute": 1}, keys=1)
    run = str(controller.ask("POST", "/v1/runs?load=true", content=text).json()["id"])
    record = embedded_range.record
    command = [sys.executable, "-m", "leakrange.load", "--leakrange-run", run, "--headless"]
    told = {"LEAKRANGE_URL": record.controller, "LEAKRANGE_OPERATOR_KEY": record.operator_key}
    with subprocess.Popen(command, env=clean() | told, stdout=subprocess.DEVNULL) as locust:
        controller.until(run, job("probe"))
        locust.kill()
    pid = embedded_range.pid("controller")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert controller.ask("GET", f"/v1/runs/{run}").json()["state"] == "running"
    done = embedded_range("load", "--run", run)
    assert done.returncode == 0, done.stderr
    found = controller.finished(run)
    assert found.view["trials"]["failed"] == 0
    for entry in found.results["ledger"]:
        if ".attacker." in entry["name"]:
            assert entry["spent"] == entry["distinct"] == QUESTIONS, entry


def test_a_scenario_that_is_not_for_load_is_refused(embedded_range: EmbeddedRange, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(scenario("without"))
    done = embedded_range("load", str(path))
    assert done.returncode == 2
    assert "'load' is missing" in done.stderr
    path.write_text(loaded("wrong", users={"membership": 1}))
    done = embedded_range("load", str(path))
    assert done.returncode == 2
    assert "nobody asks for the attack 'outside'" in done.stderr
