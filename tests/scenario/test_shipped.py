"""Ready scenarios: found in a checkout and in an installed package, all of them sound."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from leakrange.scenario.language import parse
from leakrange.scenario.shipped import locate, shipped

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "scenarios").glob("*.yaml"))


def test_every_file_is_found_with_its_text() -> None:
    assert {name: one.text for name, one in shipped().items()} == {
        file.stem: file.read_text() for file in FILES
    }
    assert next(iter(shipped())) == "demo"


def test_every_one_has_one_sentence_that_says_what_it_asks() -> None:
    for one in shipped().values():
        assert 20 < len(one.summary) < 300, (one.name, one.summary)
        assert one.summary[-1] in ".?!", (one.name, one.summary)
        assert one.summary[0].isupper(), (one.name, one.summary)
    assert shipped()["demo"].summary == "What do the outputs of a classifier give away?"
    # "Fig. 9" ends no sentence
    assert shipped()["pruning"].summary.endswith("before they run it (HBC Section 5.7, Fig. 9)?")


@pytest.mark.parametrize("name", list(shipped()))
def test_every_one_is_sound_and_named_as_its_file(name: str) -> None:
    assert parse(shipped()[name].text).name == name


def test_an_installed_package_finds_those_that_the_wheel_includes(tmp_path: Path) -> None:
    """The package alone in a folder, with what the wheel is told to include beside its modules."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    (tmp_path / "leakrange" / "scenario").mkdir(parents=True)
    for module in (
        "leakrange/__init__.py",
        "leakrange/scenario/__init__.py",
        "leakrange/scenario/shipped.py",
    ):
        shutil.copy(ROOT / "shared" / module, tmp_path / module)
    shutil.copytree(ROOT / "scenarios", tmp_path / included["scenarios"])
    said = "from leakrange.scenario.shipped import locate, shipped; print(locate()); print(*shipped())"
    ran = subprocess.run(
        [sys.executable, "-c", said],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    where, names = ran.stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path)
    assert sorted(names.split()) == sorted(file.stem for file in FILES)


def test_images_are_built_with_them() -> None:
    assert "!scenarios" in (ROOT / ".dockerignore").read_text().splitlines()
    assert "COPY scenarios scenarios" in (ROOT / "infra" / "docker" / "Dockerfile").read_text().splitlines()


def test_a_package_without_them_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("leakrange.scenario.shipped.__file__", str(tmp_path / "a" / "b" / "c" / "shipped.py"))
    with pytest.raises(FileNotFoundError, match="whole checkout"):
        locate()
