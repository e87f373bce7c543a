"""Code that runs where a plugin of Leakrange is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["Python", "install", "plugged_in"]

Python = Callable[[str, dict[str, str]], subprocess.CompletedProcess[str]]


def install(folder: Path, entry_points: dict[str, str]) -> str:
    """Install the modules in ``folder`` as a package whose entry points are given as the group of each; gives
    the ``PYTHONPATH`` of processes that are to find it."""
    info = folder / "leakrange_own-1.2.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: leakrange-own\nVersion: 1.2\n")
    groups = "".join(f"[{group}]\n{module} = {module}\n" for module, group in entry_points.items())
    (info / "entry_points.txt").write_text(groups)
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture
def plugged_in(tmp_path: Path) -> Python:
    """Run code where a package is installed whose modules are the files of ``tmp_path``; its entry points are
    given as the group of each module."""

    def run(code: str, entry_points: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": install(tmp_path, entry_points)},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
