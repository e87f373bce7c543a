"""How the tests themselves are run: the same everywhere, and without gaps in continuous integration."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.embedded import wait_for
from tests.mutants import Mutant, copied, mutants
from tests.patience import pytest_runtest_setup, until
from tests.sharing_out import FIRST, RANGES, group

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


PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
"""With the settings of this repository."""
STANDING = """
import json
import os
from pathlib import Path
import psutil

def test_standing(embedded_range, redis_url, databases):
    databases.postgres()
    above = [os.getpid(), embedded_range.record.launcher, databases._server.get_pid()]
    below = [each.pid for pid in above for each in psutil.Process(pid).children(recursive=True)]
    Path("pids").write_text(json.dumps(above + below))
    os.rename("pids", "standing")
    Path("never").open().read()
"""


@pytest.mark.timeout(900)
def test_whatever_a_killed_process_had_started_ends_with_it(tmp_path: Path) -> None:
    """The others go on meanwhile: here the one that started it stands still."""
    (tmp_path / "test_standing.py").write_text(STANDING)
    fixtures = "databases, embedded_range, redis_url"
    (tmp_path / "conftest.py").write_text(f"from tests.conftest import {fixtures}\n")
    os.mkfifo(tmp_path / "never")
    with (tmp_path / "output").open("wb") as output:
        started = psutil.Popen(
            [*PYTEST, "-n1", "--basetemp=made", "."],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=output,
        )
    try:
        there = tmp_path / "standing"
        wait_for(
            lambda: there.exists() or started.poll() is not None, "a range, a Redis and a PostgreSQL", 600
        )
        assert there.exists(), (tmp_path / "output").read_text()
        killed, *standing = [psutil.Process(pid) for pid in json.loads(there.read_text())]
        standing = [process for process in standing if _runs(process)]  # a database's helpers come and go
        names = [process.name() for process in standing]
        assert names.count("valkey-server") + names.count("redis-server") >= 2
        assert names.count("postgres") > 3
        assert sum("leakrange.services.attacker" in process.cmdline() for process in standing) >= 2
        started.suspend()
        killed.kill()
        wait_for(lambda: not any(map(_runs, standing)), "all of them to be gone", 15)
    finally:
        started.kill()
        started.wait()


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


LATE = """
def test_failing(): assert False

def test_passing(): pass

def test_endless():
    while True:
        pass

def test_passing_too(): pass
"""
REPORTING = """
import time
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    if item.name == "test_failing" and call.when == "call":
        time.sleep(2)
    return (yield)
"""


def test_a_limit_of_time_fails_the_test_that_passes_it_and_no_other(tmp_path: Path) -> None:
    """Not even where telling what failed takes longer: raised there, it would end the session."""
    (tmp_path / "test_late.py").write_text(LATE)
    (tmp_path / "conftest.py").write_text(REPORTING)
    done = _tests_of(tmp_path, "--timeout=1")
    assert "2 failed, 2 passed" in done.stdout, done.stdout


HANGING = """
import time
import pytest

@pytest.fixture
def hanging():
    time.sleep(1000)

def test_before(): pass

def test_hanging(hanging): pass

def test_behind(): pass
"""


SHARED_OUT = """
from pathlib import Path
from tests import sharing_out
from tests.sharing_out import pytest_xdist_make_scheduler

sharing_out.ROOT = Path(__file__).parent
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_what_hangs_outside_of_a_test_ends_its_process_and_no_other_test(
    processes: int, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(SHARED_OUT)
    (tmp_path / "test_hanging.py").write_text(HANGING)
    for name in "axyz":  # before it, and behind
        (tmp_path / f"test_{name}.py").write_text("def test_passing(): pass\n")
    shared_out = [f"-n{processes}", "--dist=loadfile", "--no-loadscope-reorder"]
    done = _tests_of(tmp_path, "--rootdir=.", *shared_out, "-o", "faulthandler_timeout=2")
    assert "1 failed, 6 passed" in done.stdout, done.stdout
    assert "in hanging" in done.stderr


def test_limits_grow_with_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = os.cpu_count() or 1
    for load, seconds in [(0, 1), (cores, 1), (3 * cores, 3)]:
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0, 0))
        begun = time.monotonic()
        with pytest.raises(AssertionError, match="a miracle"):
            until(lambda: False, 0.2, "a miracle")
        assert time.monotonic() - begun >= 0.2 * seconds
    assert until(lambda: time.monotonic() - begun > 1, 0.5)


@pytest.mark.parametrize("ask", [httpx.Client, httpx.AsyncClient, httpx.get, httpx.request, httpx.stream])
def test_requests_that_state_no_limit_have_one_that_grows(
    ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def limit() -> httpx.Timeout:
        return httpx.Timeout(inspect.signature(ask).parameters["timeout"].default)

    assert limit().read >= 20
    monkeypatch.setattr(os, "getloadavg", lambda: (3 * (os.cpu_count() or 1), 0, 0))
    pytest_runtest_setup()
    assert limit() == httpx.Timeout(60)


def _tests_of(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    around = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([*PYTEST, *options, "."], cwd=folder, env=around, capture_output=True, text=True)


def test_two_processes_have_all_tests_that_use_the_range(request: pytest.FixtureRequest) -> None:
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
    """Those that use the range, and would run in a third process."""
    using = (item.nodeid for item in items if "embedded_range" in item.fixturenames)
    return [nodeid for nodeid in using if group(nodeid) not in RANGES]


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


def test_mutants_are_made_in_a_copy_that_imports_its_own_services(tmp_path: Path) -> None:
    copied(tmp_path)
    code = "import leakrange.services.proxy.settings as module; print(module.__file__)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "shared")}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert Path(ran.stdout.strip()).resolve() == tmp_path / "services/proxy/settings.py", ran.stderr


def test_what_takes_longest_is_there_and_goes_first(request: pytest.FixtureRequest) -> None:
    begun = list(dict.fromkeys(group(item.nodeid) for item in request.session.items))
    longest = [name for name in FIRST if name in begun]
    assert begun[: len(longest)] == longest
    assert not [name for name in FIRST if name not in RANGES and not (ROOT / name).is_file()]
