"""Start all parties, keep them running, stop them all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from leakrange.client.embedded import RangeRecord
from leakrange.clients.cli.embedded.fork_server import Forked, ForkServer
from leakrange.clients.cli.embedded.parties import Process, computing
from leakrange.clients.cli.embedded.process import (
    command_line,
    kill_group,
    last_lines,
    previous,
    rotate,
    spawn,
)
from leakrange.clients.cli.embedded.readiness import Readiness
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.scenario.registered import behaviours
from leakrange.service.parties import parties
from leakrange.wire.disk import is_full, storage_full

__all__ = ["ProcessSupervisor", "end_leftovers"]

START_SECONDS = 180.0
"""A busy machine needs most of this, since several parties import the deep learning framework at once."""
GRACE_SECONDS = 8.0
FIRST_PAUSE, LONGEST_PAUSE, LONG_LIFE = 1.0, 30.0, 60.0


class ProcessSupervisor:
    """The processes of a range. Call all methods from the main thread, except `request_stop`."""

    def __init__(
        self,
        folder: StateFolder,
        parties: Sequence[Process],
        record: RangeRecord,
        announce: Callable[[str], None],
    ) -> None:
        self.folder, self._parties, self.record, self._announce = folder, parties, record, announce
        self._is_ready = Readiness()
        self._processes: dict[str, subprocess.Popen[bytes] | Forked] = {}
        self._server: ForkServer | None = None
        self._records = {entry.name: entry for entry in record.parties}
        self._born: dict[str, float] = {}
        self._pause: dict[str, float] = {}
        self._due: dict[str, float] = {}
        self._stopping = threading.Event()

    def request_stop(self, *_: object) -> None:
        """Make `start` or `watch` return soon; serves as a signal handler."""
        self._stopping.set()

    def start(self) -> bool:
        """Start every party and wait until all are ready; False if a stop was requested before that.

        Raises `CliError` with the last lines of the party's log if one dies, or is not ready in time.
        """
        self.folder.write(self.record)
        if sys.platform == "linux":
            self._server = ForkServer(
                (party.command[2] for party in self._parties if party.nets), computing()
            )
        for wave in self._waves():
            forked = [party for party in wave if party.nets]
            for party in wave:
                if party not in forked:
                    self._begin(party)
            if forked and not self._await_server():
                return False
            for party in forked:
                self._begin(party)
            self.folder.write(self.record)
            if not self._await(wave):
                return False
        self.record.state, self.record.stood = "ready", True
        self.folder.write(self.record)
        return True

    def watch(self) -> None:
        """Restart whatever dies, after a pause that grows, until a stop is requested. A full disk does not
        end the range: it is announced, and what failed is tried again."""
        changed = full = False
        while not self._stopping.wait(0.25):
            try:
                for party in self._parties:
                    changed |= self._look_after(party)
                if changed:
                    self.folder.write(self.record)
                changed = full = False
            except OSError as error:
                if not is_full(error):
                    raise
                if not full:
                    self._announce(f"{storage_full(self.folder.root).detail}: free space there")
                changed = full = True

    def stop(self) -> None:
        """End every party: terminate, wait, kill. The Redis-protocol servers go last, since the others need
        them to end in order."""
        self.record.state = "stopping"
        self.folder.write(self.record)
        for wave in reversed(self._waves()):
            processes = [self._processes[p.name] for p in wave if p.name in self._processes]
            for process in processes:
                if process.poll() is None:
                    process.terminate()
            deadline = time.monotonic() + GRACE_SECONDS
            for process in processes:
                try:
                    process.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    kill_group(process.pid, signal.SIGKILL)
                    process.wait()
                kill_group(process.pid, signal.SIGKILL)  # what it left behind
        if self._server is not None:
            self._server.end()

    def _waves(self) -> list[list[Process]]:
        servers = [party for party in self._parties if party.answers == "redis"]
        return [servers, [party for party in self._parties if party not in servers]]

    def _await_server(self) -> bool:
        """Wait until parties can be forked, or have to be started without the server; False if a stop was
        requested."""
        while self._server is not None and self._server.alive and not self._server.ready:
            if self._stopping.is_set():
                return False
            self._server.hear(0.2)
        return True

    def _begin(self, party: Process) -> None:
        rotate(self.folder.log(party.name))
        self._spawn(party)

    def _spawn(self, party: Process) -> None:
        folder, log = self.folder.of_party(party.name), self.folder.log(party.name)
        process: subprocess.Popen[bytes] | Forked | None = None
        if party.nets and self._server is not None and self._server.ready:
            process = self._server.fork(party.command, party.environment, folder, log)
        process = process or spawn(party.command, party.environment, folder, log)
        self._processes[party.name] = process
        self._born[party.name] = time.monotonic()
        entry = self._records[party.name]
        entry.pid, entry.state = process.pid, "starting"

    def _await(self, wave: Sequence[Process]) -> bool:
        waiting = list(wave)
        deadline = time.monotonic() + START_SECONDS
        while waiting:
            if self._stopping.wait(0.2):
                return False
            for party in list(waiting):
                code = self._processes[party.name].poll()
                if code is not None:
                    raise self._failed(party, f"{party.name} ended at start ({_ending(code)})")
                if self._is_ready(party, self._processes[party.name].pid):
                    waiting.remove(party)
                    self._records[party.name].state = "ready"
                    self.folder.write(self.record)
            if waiting and time.monotonic() > deadline:
                raise self._failed(waiting[0], f"{waiting[0].name} was not ready after {START_SECONDS:.0f} s")
        return True

    def _failed(self, party: Process, message: str) -> CliError:
        log = self.folder.log(party.name)
        return CliError(
            message,
            lines=last_lines(log),
            code=Exit.NOT_STARTED,
            hint=f"the whole log is {log}",
        )

    def _look_after(self, party: Process) -> bool:
        """Restart a dead party when its pause is over, note when it is ready again; returns True if anything
        changed."""
        entry, now = self._records[party.name], time.monotonic()
        if party.name in self._due:
            if now < self._due[party.name]:
                return False
            del self._due[party.name]
            self._begin(party)
            return True
        process = self._processes[party.name]
        code = process.poll()
        if code is None:
            if entry.state == "starting" and self._is_ready(party, process.pid):
                entry.state = "ready"
                self._announce(f"{party.name} is ready again")
                return True
            return False
        kill_group(process.pid, signal.SIGKILL)  # or surviving children would answer beside its successor
        if now - self._born[party.name] > LONG_LIFE:
            self._pause.pop(party.name, None)
        pause = self._pause.get(party.name, FIRST_PAUSE)
        self._pause[party.name] = min(LONGEST_PAUSE, pause * 2)
        self._due[party.name] = now + pause
        entry.state, entry.pid = "restarting", None
        entry.restarts += 1
        self._announce(
            f"{party.name} ended ({_ending(code)}); starting it again in {pause:.0f} s,"
            f" its last words are in {previous(self.folder.log(party.name))}"
        )
        return True


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def end_leftovers(record: RangeRecord) -> list[str]:
    """Kill parties that outlived a crashed launcher (on Linux the kernel does so), and return their names."""
    signs = {"redis.conf", *(f"-m {party.module}" for party in parties(behaviours()))}
    ended = []
    for entry in record.parties:
        if entry.pid is None or entry.pid == os.getpid():
            continue
        line = command_line(entry.pid)
        # Process numbers are reused: end only what still looks like the party.
        if any(sign in line for sign in signs):
            kill_group(entry.pid, signal.SIGKILL)
            ended.append(entry.name)
    return ended
