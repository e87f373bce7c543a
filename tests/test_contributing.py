"""CONTRIBUTING, hooks and workflow hold what they say: the attack can be added as it stands there."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.plugins import Python, plugged_in

__all__ = ["plugged_in"]

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


NEAREST = ROOT / "docs" / "examples" / "nearest"
PAGE = (ROOT / "docs" / "extend" / "attack.md").read_text()


def test_the_page_shows_every_file_of_the_attack() -> None:
    shown = re.findall(r'(?m)^--8<-- "nearest/(.*)"$', PAGE)
    assert sorted(shown) == sorted(file.name for file in NEAREST.iterdir() if file.is_file())


def test_the_attack_that_it_adds_passes_its_test_and_can_be_named(plugged_in: Python, tmp_path: Path) -> None:
    for file in filter(Path.is_file, NEAREST.iterdir()):
        shutil.copy(file, tmp_path)
    entry_points = tomllib.loads((NEAREST / "pyproject.toml").read_text())["project"]["entry-points"]
    [(group, modules)] = entry_points.items()
    [module] = modules.values()
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)]
    done = plugged_in(f"import pytest, sys; sys.exit(pytest.main({options}))", {module: group})
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    check = "sys.argv[1:] = ['scenario', 'check', 'nearest.yaml']"
    done = plugged_in(
        f"import sys; {check}; from leakrange.clients.cli.main import main; main()", {module: group}
    )
    assert done.returncode == 0, done.stderr


def test_paths_that_it_names_exist() -> None:
    for path in re.findall(r"`((?:shared|infra|docs|tests)/[\w./-]+)`", TEXT):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", ["CHANGELOG.md", "SECURITY.md"])
def test_who_contributes_finds(name: str) -> None:
    assert (ROOT / name).read_text().startswith("# ")


def test_hooks_check_with_the_ruff_that_is_pinned() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    [revision] = [repo["rev"] for repo in hooks if repo["repo"].endswith("ruff-pre-commit")]
    assert f"ruff=={revision.removeprefix('v')}" in (ROOT / "constraints.txt").read_text().splitlines()


def test_the_workflow_tests_every_python_that_is_promised() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f">={tested[0]}" == project["requires-python"]
    assert tested == ["3.11", "3.12", "3.13"]
    for step in workflow["jobs"]["test"]["steps"]:
        if step.get("run", "").startswith(".ci/"):
            assert (ROOT / step["run"]).stat().st_mode & 0o100
