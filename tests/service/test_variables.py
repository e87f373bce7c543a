"""Variables that nothing reads: each service and the launcher name them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from leakrange.scenario.registered import behaviours
from leakrange.service.parties import parties
from leakrange.service.variables import mistaken
from tests.embedded import clean, leakrange

ROOT = Path(__file__).parents[2]
READING = ("clients", "docs", "infra", "load", "scenarios", "services", "shared")
MODULES = sorted({party.module for party in parties(behaviours())})
GONE = {"LEAKRANGE_VISIBILITY_TIMEOUT"}
"""What the changes tell of earlier versions."""


@pytest.mark.parametrize("module", MODULES)
def test_a_service_does_not_start_with_a_variable_that_nobody_reads(module: str) -> None:
    environment = {"LEAKRANGE_METRIC_KEY": "0123456789abcdef-metrics", "leakrange_viewer_kei": "hunter2"}
    done = subprocess.run(
        [sys.executable, "-m", module], env=clean() | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "LEAKRANGE_METRIC_KEY is set, and nothing reads it: is LEAKRANGE_METRICS_KEY meant?" in done.stderr
    assert "leakrange_viewer_kei is set, and nothing reads it: is LEAKRANGE_VIEWER_KEY meant?" in done.stderr
    assert "hunter2" not in done.stderr
    assert "0123456789abcdef" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("mode", [[], ["--detach"]])
def test_no_range_is_started_with_a_variable_that_nobody_reads(mode: list[str], tmp_path: Path) -> None:
    state = tmp_path / "range"
    done = leakrange("up", *mode, "--state", str(state), "--ports", "0", LEAKRANGE_VIEWERKEY="hunter2")
    assert done.returncode == 2
    assert "LEAKRANGE_VIEWERKEY is set, and nothing reads it: is LEAKRANGE_VIEWER_KEY meant?" in done.stderr
    assert "hunter2" not in done.stderr
    assert not state.exists()


def test_every_variable_that_is_read_or_described_is_known() -> None:
    files = [ROOT / "docker-compose.yml", ROOT / "Makefile", ROOT / "README.md"]
    for folder in READING:
        files += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".md", ".py", ".yml", ".yaml", ".ipynb", ".conf"} or path.name == "Dockerfile"
        ]
    names = {name for path in files for name in re.findall(r"\bLEAKRANGE_[A-Z_]*[A-Z]\b", path.read_text())}
    assert len(names) > 50
    assert mistaken(names - GONE) == []
