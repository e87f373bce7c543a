"""Code that runs where a plugin of Leakrange is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

__all__ = ["Python", "install", "install_project", "plugged_in"]

Python = Callable[[str, Mapping[str, str | list[str]]], subprocess.CompletedProcess[str]]


def install(folder: Path, entry_points: Mapping[str, str | list[str]]) -> str:
    """Install the modules in ``folder`` as a package whose entry points are given as the group of each, or
    its groups; gives the ``PYTHONPATH`` of processes that are to find it."""
    groups: dict[str, dict[str, str]] = {}
    for module, those in entry_points.items():
        for group in [those] if isinstance(those, str) else those:
            groups.setdefault(group, {})[module] = module
    return _found(folder, "leakrange-own", "1.2", groups)


def install_project(folder: Path) -> str:
    """Install a project as its ``pyproject.toml`` says, as pip does with its modules; gives the
    ``PYTHONPATH`` of processes that are to find it."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return _found(folder, project["name"], project["version"], project["entry-points"])


def _found(folder: Path, name: str, version: str, groups: dict[str, dict[str, str]]) -> str:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{entry} = {module}\n" for entry, module in entries.items())
            for group, entries in groups.items()
        )
    )
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture
def plugged_in(tmp_path: Path) -> Python:
    """Run code where a package is installed whose modules are the files of ``tmp_path``; its entry points are
    given as the group of each module, or its groups."""

    def run(code: str, entry_points: Mapping[str, str | list[str]]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": install(tmp_path, entry_points)},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
