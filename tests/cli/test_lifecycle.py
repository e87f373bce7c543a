"""A range that is interrupted, crashes, is started twice, or finds its ports taken."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from leakrange.clients.cli.embedded.ports import assign, check_free, claimed, names
from leakrange.clients.cli.embedded.process import kill_group
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.exits import CliError
from leakrange.service.workers import listening
from tests.disks import fill, small_disk
from tests.embedded import COMMAND, EmbeddedRange, alive, clean, leakrange, wait_for


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], EmbeddedRange]]:
    """``leakrange up`` in the foreground, all of its parties begun and not yet ready."""
    process = subprocess.Popen(
        [COMMAND, "up", "--state", str(tmp_path), "--ports", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean(),
    )
    standing = EmbeddedRange(tmp_path)
    wait_for(lambda: _all_begun(standing.folder), "every party to be started")
    pids = standing.pids()
    yield process, standing
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    for pid in pids[1:]:
        kill_group(pid, signal.SIGKILL)


def _all_begun(folder: StateFolder) -> bool:
    record = folder.record()
    return record is not None and all(party.pid for party in record.parties)


def test_ctrl_c_stops_every_party(starting: tuple[subprocess.Popen[str], EmbeddedRange]) -> None:
    process, standing = starting
    pids = standing.pids()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping" in output
    assert "Traceback" not in output
    assert not [pid for pid in pids if alive(pid)]
    assert standing.folder.record() is None


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends orphans on Linux only")
def test_parties_die_with_a_killed_launcher_and_the_next_start_tidies_up(
    starting: tuple[subprocess.Popen[str], EmbeddedRange],
) -> None:
    process, standing = starting
    pids = standing.pids()
    process.kill()
    process.wait()
    wait_for(lambda: not any(alive(pid) for pid in pids), "all parties to die", 10)
    shown = standing("status")
    assert shown.returncode == 3
    assert "ended without stopping" in shown.stderr
    tidied = standing("down")
    assert tidied.returncode == 0
    assert "tidying up" in tidied.stderr
    assert standing.folder.record() is None


def test_a_taken_port_is_named_with_the_party_that_needs_it(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        base = port - names().index("proxy")
        done = leakrange("up", "--state", str(tmp_path), "--ports", str(base))
    assert done.returncode == 5
    assert f"port {port} is taken: proxy needs it" in done.stderr
    assert "--ports" in done.stderr
    assert not list((tmp_path / "logs").iterdir())  # nothing was started


def test_a_party_that_dies_at_start_is_shown_with_its_log_and_all_are_stopped(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    log = tmp_path / "redis" / "appendonlydir" / "appendonly.aof.manifest"
    log.parent.mkdir(parents=True)
    log.write_text("no manifest\n")
    done = leakrange("up", "--detach", "--state", str(tmp_path), "--ports", "0")
    assert done.returncode == 5
    assert "redis ended at start (exit code 1)" in done.stderr
    assert "AOF manifest" in done.stderr  # the server's own reason
    assert str(folder.log("redis")) in done.stderr
    record = folder.record()
    assert record is not None
    assert record.parties
    assert not [party.pid for party in record.parties if party.pid and alive(party.pid)]
    shown = leakrange("status", "--state", str(tmp_path))
    assert shown.returncode == 3
    assert "redis ended at start" in shown.stderr


def test_a_second_range_in_the_same_folder_is_refused(embedded_range: EmbeddedRange) -> None:
    before = embedded_range.pids()
    done = embedded_range("up", "--detach", "--ports", "0")
    assert done.returncode == 5
    assert "is running in" in done.stderr
    assert embedded_range.record.controller in done.stderr
    assert embedded_range.pids() == before


def test_its_pages_open_logged_in(embedded_range: EmbeddedRange) -> None:
    done = embedded_range("open", "20260101-120000-a1b2c3", DISPLAY="", WAYLAND_DISPLAY="")
    assert done.returncode == 0
    opened = httpx.get(done.stdout.strip(), headers={"Accept": "text/html"})
    assert opened.status_code == 303
    assert opened.headers["location"].endswith("/runs/20260101-120000-a1b2c3")


def test_of_two_starts_in_one_folder_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    """Both begin at the same moment."""
    command = [COMMAND, "up", "--detach", "--state", str(tmp_path), "--ports", "0"]
    both = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=clean())
        for _ in range(2)
    ]
    ended = [process.communicate(timeout=200)[1] for process in both]
    standing = EmbeddedRange(tmp_path)
    try:
        assert sorted(process.returncode for process in both) == [0, 5], ended
        [refused] = [words for process, words in zip(both, ended, strict=True) if process.returncode]
        assert f"a range is starting in {tmp_path}" in refused
        assert standing("status").returncode == 0
        # Its log is not the other's.
        assert "ready" in standing.folder.log("launcher").read_text()
    finally:
        standing.down()


@pytest.mark.skipif(sys.platform != "linux", reason="claims of ports are Linux' own")
@pytest.mark.parametrize("mode", [[], ["--detach"]])
def test_no_range_starts_at_a_port_where_another_is_starting(mode: list[str], tmp_path: Path) -> None:
    """No party of the other's listens yet; of the ports one is shared."""
    base = free_base()
    with claimed([base + 3]):
        done = leakrange("up", *mode, "--state", str(tmp_path), "--ports", str(base))
        assert done.returncode == 5
        assert f"port {base + 3} is another range's, which is starting or running" in done.stderr
        assert "--ports 0" in done.stderr
    logs = [path.name for path in (tmp_path / "logs").iterdir()]
    assert logs == (["launcher.log"] if mode else [])  # nothing was started
    with claimed(range(base, base + 4)):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="claims of ports are Linux' own")
def test_while_a_party_is_away_nobody_is_given_its_port() -> None:
    """Else a server of somebody else would answer for it, and be taken for it."""
    port = assign(0)["proxy"]
    with claimed([port]):
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        for shared in (False, True):
            with listening("127.0.0.1", port, shared=shared) as [party]:
                party.listen()
                socket.create_connection(("127.0.0.1", port)).close()
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", port))


def free_base() -> int:
    """The first of as many free ports as a range needs."""
    while True:
        base = assign(0)["controller"]
        try:
            check_free(assign(base))
        except CliError:
            continue
        return base


def test_down_without_a_range_is_no_error(tmp_path: Path) -> None:
    assert leakrange("down", "--state", str(tmp_path / "nowhere")).returncode == 0
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("mode", [[], ["--detach"]])
def test_a_full_disk_is_named_before_anything_is_started(mode: list[str], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        done = leakrange("up", *mode, "--ports", "0", "--state", str(disk / "range"))
        assert done.returncode == 5
        assert "the disk is full" in done.stderr
        assert str(disk / "range") in done.stderr
        assert "free space there" in done.stderr
        assert list(disk.iterdir()) == []


def test_a_file_that_finds_no_room_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        fill(disk)
        where = ["--store", str(tmp_path / "store"), "--out", str(disk / "page.md")]
        done = leakrange("reproduce", "hbc", "--quick", "--show", *where)
        assert done.returncode == 1
        assert f"the disk is full: nothing more can be written to {disk}" in done.stderr


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"operator": 1}', bytes(40)])
def test_damaged_secrets_are_named(content: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "range"
    folder.mkdir()
    (folder / "secrets.json").write_bytes(content)
    done = leakrange("up", "--ports", "0", "--state", str(folder))
    assert done.returncode == 5
    assert f"{folder / 'secrets.json'} is damaged" in done.stderr
    assert "delete it" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_record_of_a_range_that_runs_is_named_and_another_is_no_loss(tmp_path: Path) -> None:
    record = StateFolder(tmp_path).record_file
    record.write_bytes(b"{")
    launcher = (
        "import sys; from pathlib import Path; from leakrange.clients.cli.embedded.state import StateFolder\n"
        "folder = StateFolder(Path(sys.argv[1])); print(folder.hold(), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", launcher, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        for command in ("status", "runs", "down"):
            done = leakrange(command, "--state", str(tmp_path))
            assert done.returncode == 1
            assert f"{record} is damaged" in done.stderr
            assert f"process {process.pid}" in done.stderr
        process.kill()
    assert leakrange("down", "--state", str(tmp_path)).returncode == 0
