"""How the tests themselves are run: the same everywhere, and without gaps in continuous integration."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mutants import Mutant, mutants
from tests.sharing_out import FIRST, RANGE, group

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

def test_done(): pass

@pytest.mark.skipif(True, reason="needs a browser")
def test_browser(): pass

def test_database(): pytest.importorskip("no_such_database", reason="no PostgreSQL here")

def test_data(): pytest.skip("real data set utkface is not here: set LEAKRANGE_DATA")

@pytest.mark.xfail
def test_foreseen(): raise ValueError
"""
OPTIONS = ["-q", "-p", "tests.unskipped", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
MODULE = 'import pytest\npytest.importorskip("no_such_module", reason="no such module here")\n'


def test_no_process_computes_with_more_than_one_thread() -> None:
    asked = "import torch; print(torch.get_num_threads())"
    started = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert torch.get_num_threads() == int(started.stdout) == 1


def test_no_example_has_a_deadline() -> None:
    assert settings().deadline is None

    @settings(max_examples=7)
    @given(st.integers())
    def of_a_test(number: int) -> None: ...

    assert of_a_test._hypothesis_internal_use_settings.deadline is None


@pytest.mark.parametrize(
    ("environment", "failed", "skipped"),
    [
        ({}, [], ["browser", "database", "data", "no such module"]),
        ({"CI": "true"}, ["needs a browser", "no PostgreSQL here", "no such module here"], ["data"]),
        (
            {"CI": "true", "LEAKRANGE_DATA": "/somewhere"},
            ["needs a browser", "no PostgreSQL here", "no such module here", "real data set utkface"],
            [],
        ),
    ],
    ids=["by hand", "without data", "in CI"],
)
def test_what_is_skipped_elsewhere_fails_in_ci(
    tmp_path: Path, environment: dict[str, str], failed: list[str], skipped: list[str]
) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text(MODULE)
    around = {name: value for name, value in os.environ.items() if name not in ("CI", "LEAKRANGE_DATA")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        env=around | environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    said = done.stdout
    assert done.returncode == (1 if failed else 0), said
    assert "1 passed" in said
    assert "1 xfailed" in said
    assert said.count("skipped, though CI has what it needs") >= len(failed)
    for reason in failed:
        assert f"what it needs: {reason}" in said
    assert (f"{len(skipped)} skipped" in said) if skipped else (" skipped" not in said.splitlines()[-1])


def test_one_process_has_all_tests_that_use_the_range(request: pytest.FixtureRequest) -> None:
    assert astray(request.session.items) == []
    items = {
        name: SimpleNamespace(nodeid=f"tests/{name}::test", fixturenames=fixtures)
        for name, fixtures in (
            ("wire/test_names.py", ["tmp_path", "embedded_range"]),
            ("wire/test_tensors.py", ["tmp_path"]),
            ("range/test_run.py", ["embedded_range"]),
        )
    }
    assert astray(items.values()) == ["tests/wire/test_names.py::test"]


def astray(items: Iterable[Any]) -> list[str]:
    """Those that use the range, and would run in another process than its other tests."""
    using = (item.nodeid for item in items if "embedded_range" in item.fixturenames)
    return [nodeid for nodeid in using if group(nodeid) != RANGE]


def test_every_mutant_can_be_made_and_its_test_is_there(tmp_path: Path) -> None:
    for name, mutant in mutants().items():
        assert (ROOT / mutant.file).read_text().count(mutant.old) == 1, name
        assert mutant.old != mutant.new, name
        path, _, test = mutant.test.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text(), name
    (tmp_path / "sum.py").write_text("a + b\n")
    assert Mutant("sum.py", "+", "-", "").apply(tmp_path) == "a + b\n"
    assert (tmp_path / "sum.py").read_text() == "a - b\n"
    with pytest.raises(ValueError, match="0 times, not once"):
        Mutant("sum.py", "+", "-", "").apply(tmp_path)


def test_what_takes_longest_is_there_and_goes_first(request: pytest.FixtureRequest) -> None:
    begun = list(dict.fromkeys(group(item.nodeid) for item in request.session.items))
    longest = [name for name in FIRST if name in begun]
    assert begun[: len(longest)] == longest
    assert not [name for name in FIRST if name != RANGE and not (ROOT / name).is_file()]
