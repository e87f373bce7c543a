"""Parties that are forked from a process that has imported what they need."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from leakrange.clients.cli.embedded.fork_server import Forked, ForkServer
from tests.embedded import EmbeddedRange
from tests.patience import patience

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="forks by the kernel's descriptors of processes"
)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + patience(60)
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a program that says what it is given, and ends as it is told."""
    folder = tmp_path / "a program"
    (folder / "seen").mkdir(parents=True)
    (folder / "seen" / "__init__.py").touch()
    (folder / "seen" / "costly.py").write_text("print('imported')\n")
    (folder / "seen" / "__main__.py").write_text(
        "import os, sys, time\n"
        "import seen.costly\n"
        "first = os.getpgid(0) == os.getpid()\n"
        "print(sys.argv[1:], os.environ['WORD'], os.getcwd(), first, __name__, flush=True)\n"
        "if sys.argv[1] == 'wait':\n"
        "    time.sleep(1000)\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    return folder


@pytest.fixture
def server(package: Path) -> Iterator[ForkServer]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(package), *sys.path])}
    server = ForkServer(["seen"], environment)
    until(lambda: server.hear(0.1) or server.ready)
    yield server
    server.end()


def fork(server: ForkServer, folder: Path, *arguments: str, word: str = "w") -> Forked:
    command = [sys.executable, "-m", "seen", *arguments]
    forked = server.fork(command, {"WORD": word}, folder, folder.with_suffix(f".{word}.log"))
    assert forked is not None
    return forked


def test_a_party_gets_its_own_arguments_environment_and_folder_and_its_exit_code_is_told(
    server: ForkServer, tmp_path: Path
) -> None:
    first, second = fork(server, tmp_path / "a", "3", word="x"), fork(server, tmp_path / "b", "0", word="y")
    assert (first.wait(patience(30)), second.wait(patience(30))) == (3, 0)
    assert (tmp_path / "a.x.log").read_text() == f"['3'] x {tmp_path / 'a'} True __main__\n"
    assert (tmp_path / "b.y.log").read_text() == f"['0'] y {tmp_path / 'b'} True __main__\n"  # imported once


def test_it_looks_like_what_it_is_and_ends_when_it_is_asked(server: ForkServer, tmp_path: Path) -> None:
    forked, log = fork(server, tmp_path / "a", "wait"), tmp_path / "a.w.log"
    until(log.read_text)  # type: ignore[arg-type]
    assert psutil.Process(forked.pid).cmdline()[1:4] == ["-m", "seen", "wait"]
    assert forked.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        forked.wait(0.1)
    forked.terminate()
    assert forked.wait(patience(30)) == -signal.SIGTERM
    forked.terminate()  # it is gone, and its number may be another's


def test_what_it_has_forked_ends_with_it_and_nothing_more_is_forked(
    server: ForkServer, tmp_path: Path
) -> None:
    forked = fork(server, tmp_path / "a", "wait")
    [process] = [each for each in psutil.process_iter() if each.pid == forked.pid]
    psutil.Process(process.ppid()).kill()
    assert forked.wait(patience(30)) == -signal.SIGKILL
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    assert not server.ready
    assert server.fork(["python", "-m", "seen", "0"], {}, tmp_path, tmp_path / "log") is None


def test_a_range_whose_fork_server_is_killed_stands_again(tmp_path: Path) -> None:
    """Without it, each party imports by itself."""
    ours = EmbeddedRange(tmp_path / "range")
    ours.up()
    try:
        before = {party.name: party.pid for party in ours.record.parties}
        edge = psutil.Process(before["edge"])
        assert "leakrange.clients.cli.embedded.fork_server" not in edge.cmdline()
        server = edge.parent()
        assert server is not None
        forked = {party for party, pid in before.items() if psutil.Process(pid).ppid() == server.pid}
        assert {"edge", "provider-honest", "attacker-1", "trainer"} <= forked
        server.kill()

        def stands() -> bool:
            return all(
                party.state == "ready" and (party.pid != before[party.name]) == (party.name in forked)
                for party in ours.record.parties
            )

        until(stands)
        parents = {psutil.Process(party.pid).ppid() for party in ours.record.parties}
        assert parents == {ours.record.launcher}
    finally:
        ours.down()
