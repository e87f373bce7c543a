"""What is said of a range that nobody stopped."""

from __future__ import annotations

import py_compile
import socket
import sys
from pathlib import Path

import pytest

from leakrange.clients.cli.commands import embedded_range
from leakrange.clients.cli.embedded import launcher
from leakrange.clients.cli.embedded.launcher import Settings, serve
from leakrange.clients.cli.embedded.parties import Process
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.embedded.supervisor import ProcessSupervisor
from tests.embedded import alive, leakrange


def test_status_and_up_say_why_a_range_ended_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range of Redis alone, whose launcher meets what nobody has thought of."""
    all_parties = launcher.processes

    def redis_alone(*given: object, **named: object) -> list[Process]:
        return all_parties(*given, **named)[:1]  # type: ignore[arg-type]

    def watch(_: ProcessSupervisor) -> None:
        raise LookupError("the moon is not where it was")

    monkeypatch.setattr(launcher, "processes", redis_alone)
    monkeypatch.setattr(ProcessSupervisor, "watch", watch)
    folder = StateFolder(tmp_path)
    pids: list[int] = []
    with pytest.raises(LookupError):
        serve(
            Settings(folder, 0, 1),
            announce=lambda _: None,
            starting=lambda _: None,
            ready=lambda record: pids.extend(party.pid for party in record.parties if party.pid),
        )
    assert pids
    assert not [pid for pid in pids if alive(pid)]
    assert folder._lock is not None
    folder._lock.close()  # as when the launcher's process ends
    shown = leakrange("status", "--state", str(tmp_path))
    assert shown.returncode == 3
    assert "ended by itself" in shown.stderr
    assert "the moon is not where it was" in shown.stderr
    assert "leakrange up" in shown.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        base = taken.getsockname()[1]
        again = leakrange("up", "--state", str(tmp_path), "--ports", str(base))
        away = leakrange("up", "--detach", "--state", str(tmp_path), "--ports", str(base))
    assert again.returncode == away.returncode == 5
    assert "starting" not in again.stderr + away.stderr
    assert "the moon is not where it was" in again.stderr


@pytest.mark.parametrize(
    ("compiled", "never", "sentence"),
    [(True, False, ""), (False, False, "the first start compiles"), (False, True, "every start compiles")],
)
def test_a_start_that_compiles_says_why_it_takes_longer(
    compiled: bool,
    never: bool,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "sqlalchemy.py").write_text("")
    if compiled:
        py_compile.compile(str(tmp_path / "sqlalchemy.py"))
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "sqlalchemy", raising=False)
    monkeypatch.setattr("sys.dont_write_bytecode", never)
    embedded_range._note_compiling()
    told = capsys.readouterr().err
    assert ("compiles" in told) == (not compiled)
    assert sentence in told
