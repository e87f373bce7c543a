"""A package of the user's own brings a kind of step: what a worker is given, how the controller takes it,
what the worker does, and a kind of attack whose plan asks for it. Nothing of the range knows its name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.range.conftest import Controller, value

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "scales"
LEAST = 0.03
"""As the scenario says."""


def test_the_page_shows_every_file_of_the_package() -> None:
    shown = re.findall(r'(?m)^--8<-- "scales/(.*)"$', (ROOT / "docs" / "extend" / "step.md").read_text())
    files = (path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.is_file())
    assert sorted(shown) == sorted(str(path) for path in files if path.stem != "__init__")


def test_a_step_that_the_range_does_not_have_is_taken_recorded_and_judged(
    plugged: Controller, tmp_path: Path
) -> None:
    run = plugged.run((EXAMPLE / "scales.yaml").read_text())
    assert (run.view["state"], run.view["trials"]["done"]) == ("done", 2), run.view["error"]
    assert run.view["jobs"]["weigh"] == {"total": 2, "done": 2, "failed": 0}
    counts = sorted(value(trial, "weights") for trial in run.trials.values())
    files = (tmp_path / "range").rglob("classifier.safetensors")
    weighed = sorted(
        float(sum((np.abs(each) >= LEAST).sum() for each in load_file(file).values())) for file in files
    )
    assert counts == weighed
    assert counts[0] != counts[1]  # two seeds, two models

    events = [event for event in run.events if event["data"].get("kind") == "weigh"]
    assert [event["event"] for event in events].count("job.done") == 2
    again = plugged.run((EXAMPLE / "scales.yaml").read_text())
    done = [e for e in again.events if e["event"] == "job.done" and e["data"]["kind"] == "weigh"]
    assert [event["data"].get("already") for event in done] == [True, True]
    board = plugged.ask("GET", f"/runs/{run.id}").text
    assert "Weighing models" in board
