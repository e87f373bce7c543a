"""Several workers behind one port: all answer, the dead are replaced, and what is under way is finished."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.patience import patience, until

STARTUP_FAILURE = 3


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(port: int, workers: int, gate: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.service.several", *map(str, (port, workers, gate))]
    return subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, stderr=subprocess.PIPE
    )


class Several:
    def __init__(self, process: subprocess.Popen[bytes], port: int, gate: socket.socket) -> None:
        self.process, self.url, self.gate = process, f"http://127.0.0.1:{port}", gate

    def pid(self) -> int:
        """The worker that answers a new connection."""
        return int(httpx.get(f"{self.url}/pid", timeout=20).text)

    def pids(self, count: int, without: int = 0) -> set[int]:
        """Ask until so many workers have answered."""
        seen: set[int] = set()
        deadline = time.monotonic() + patience(30)
        while len(seen) < count:
            assert time.monotonic() < deadline, seen
            try:
                seen.add(self.pid())
            except httpx.TransportError:  # the connection was one of a worker that was just killed
                continue
            seen.discard(without)
        return seen

    def ends(self) -> tuple[int, bytes]:
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


@contextmanager
def several(workers: int) -> Iterator[Several]:
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as gate:
        process = start(port, workers, gate.getsockname()[1])
        made = Several(process, port, gate)
        try:
            deadline = time.monotonic() + patience(30)
            while True:
                assert process.poll() is None, made.ends()
                assert time.monotonic() < deadline
                try:
                    made.pid()
                    break
                except httpx.TransportError:
                    time.sleep(0.02)  # not listening yet
            yield made
        finally:
            process.kill()
            process.communicate()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until_gone(pids: set[int]) -> None:
    until(lambda: not any(map(alive, pids)))


def test_all_workers_answer_and_metrics_tell_of_all() -> None:
    with several(3) as tested:
        assert len(tested.pids(3)) == 3
        before = asked(tested)
        answered = 10
        for _ in range(answered):
            tested.pid()
        after = asked(tested)
    assert set(after) == {"0", "1", "2"}
    assert sum(after.values()) - sum(before.values()) == answered


def asked(tested: Several) -> dict[str, float]:
    text = httpx.get(f"{tested.url}/metrics").text
    assert len(re.findall("^# TYPE asked_total counter$", text, re.MULTILINE)) == 1
    return {n: float(value) for n, value in re.findall(r'^asked_total\{worker="(\d)"\} (\S+)$', text, re.M)}


def test_a_worker_that_dies_is_replaced() -> None:
    with several(2) as tested:
        killed, stays = tested.pids(2)
        os.kill(killed, signal.SIGKILL)
        now = tested.pids(2, without=killed)
        assert stays in now
        assert sorted(asked(tested)) == ["0", "1"]
        tested.process.terminate()
        status, said = tested.ends()
        until_gone(now)
    assert status == 0
    assert b"worker died" in said


def test_sigterm_lets_workers_finish_what_they_answer() -> None:
    with several(2) as tested:
        workers = tested.pids(2)
        answers: list[httpx.Response] = []
        client = threading.Thread(
            target=lambda: answers.append(httpx.get(f"{tested.url}/slow", timeout=30)), daemon=True
        )
        client.start()
        inside, _ = tested.gate.accept()  # the request has reached its worker
        tested.process.terminate()
        with inside:
            refused(tested)
            inside.sendall(b"!")
        client.join(timeout=30)
        status, _ = tested.ends()
    assert status == 0
    assert int(answers[0].text) in workers
    until_gone(workers)


def refused(tested: Several) -> None:
    """Wait until no worker takes a connection."""
    deadline = time.monotonic() + patience(30)
    while True:
        assert time.monotonic() < deadline
        try:
            tested.pid()
        except httpx.ConnectError:
            return
        except httpx.TransportError:
            continue


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a process of its parent's end")
def test_workers_end_with_their_parent() -> None:
    with several(2) as tested:
        workers = tested.pids(2)
        tested.process.kill()
        until_gone(workers)


def test_a_port_that_is_in_use_is_not_shared() -> None:
    with several(2) as tested:
        port = int(tested.url.rpartition(":")[2])
        second = start(port, 2, 1)
        _, said = second.communicate(timeout=30)
        tested.pid()
    assert second.returncode == STARTUP_FAILURE
    assert b"the address cannot be used" in said


def test_a_start_that_fails_ends_all() -> None:
    process = start(free_port(), 2, 0)
    _, said = process.communicate(timeout=30)
    assert process.returncode == STARTUP_FAILURE
    assert b"nothing to serve" in said
