"""A scenario run from the command line on a standing range, through a crash of the controller."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from leakrange.client.embedded import PartyRecord
from tests.embedded import COMMAND, EmbeddedRange, clean, wait_for

NAME = "a-controller-that-is-killed"
SCENARIO = f"""\
name: {NAME}
seeds: [0]
data: {{name: digits}}
schedule: {{epochs: 3}}
providers:
  curious: {{behaviour: curious, method: parameterized, target: parity, sensitive: loop, release: logits}}
clients:
  phones: {{kind: edge, count: 5, samples: 64}}
defences:
  none: []
  label-only: [argmax]
attacks:
  inside: {{kind: curious-decoder}}
budgets: [64]
"""


@pytest.mark.timeout(600)
def test_a_run_is_followed_to_its_report_though_the_controller_is_killed(
    embedded_range: EmbeddedRange, tmp_path: Path
) -> None:
    scenario, page = tmp_path / "small.yaml", tmp_path / "reports" / "small.html"
    scenario.write_text(SCENARIO)
    command = [
        COMMAND,
        "run",
        str(scenario),
        "--state",
        str(embedded_range.root),
        "--report",
        str(page),
        "--json",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean()
    ) as process:
        wait_for(lambda: _states(embedded_range) == ["running"], "the run to begin")
        before = _controller(embedded_range)
        killed = before.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        output, errors = process.communicate(timeout=420)
    assert process.returncode == 0, errors
    view = json.loads(output)
    assert view["state"] == "done"
    assert view["trials"] == {"done": 2, "failed": 0, "total": 2}
    assert f"report: {page.resolve().as_uri()}" in errors
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")

    wait_for(lambda: embedded_range("status").returncode == 0, "the controller to be ready again")
    after = _controller(embedded_range)
    assert after.restarts == before.restarts + 1
    assert after.pid != killed
    assert view["id"] in [run["id"] for run in json.loads(embedded_range("runs", "--json").stdout)]
    models = json.loads(embedded_range("models", "list", "--json").stdout)
    assert "curious/parameterized" in [model["behaviour"] for model in models]

    again = embedded_range("follow", view["id"])
    assert again.returncode == 0
    assert "finished: " in again.stderr
    headline, task, heading, row, recommendation = again.stdout.splitlines()
    assert headline == "Whether “curious” gives away “loop” cannot be told."
    assert task == "digits: loop hidden behind parity, AUC"
    assert heading.split() == ["provider", "none", "label-only"]
    assert re.fullmatch(r"curious( +[?AB] 0\.\d{3} \(honesty \d\d\.\d\)){2} *", row.replace("\xa0", " "))
    assert recommendation.startswith("To find out, ")
    for fail_if, status in (
        ("leaks", 0),
        ("cannot-tell", 6),
        ("leaks:label-only", 0),
        ("leaks:no", 6),
        ("no", 2),
    ):
        assert embedded_range("follow", view["id"], "--fail-if", fail_if).returncode == status, fail_if
    cancelled = embedded_range("cancel", view["id"])
    assert cancelled.returncode == 0
    assert "is finished" in cancelled.stderr


def _states(standing: EmbeddedRange) -> list[str]:
    """Of the runs of this scenario: other tests have theirs in the same range."""
    done = standing("runs", "--json")
    runs = json.loads(done.stdout) if done.returncode == 0 else []
    return [run["state"] for run in runs if run["name"] == NAME]


def _controller(standing: EmbeddedRange) -> PartyRecord:
    return standing.record.party("controller")
