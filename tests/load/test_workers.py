"""Locust's workers under load: what they may do without being taken for lost."""

from __future__ import annotations

import subprocess
import sys


def test_a_worker_may_load_a_model_without_being_taken_for_lost() -> None:
    """In a process of its own: Locust replaces what blocks in the one that imports it."""
    told = "from locust import runners; import leakrange.load.locustfile; print(runners.HEARTBEAT_LIVENESS)"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) >= 30
