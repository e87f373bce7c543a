"""All faults of the drill, one after the other in one range."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from leakrange.load.faults.catalogue import FAULTS


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_fault_ends_as_it_should() -> None:
    command = [sys.executable, "-m", "leakrange.load.faults"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for fault in FAULTS:
        assert f"{fault.done} → " in done.stdout
