"""A process that has imported what parties with nets import, and forks each of them: Linux only.

To import the deep learning framework takes longer than all else that such a party does before it is ready,
and what is imported takes most of its memory. The server imports once, computes nothing, starts no thread,
and learns no secret: a forked child alone reads its order, from a pipe. The parties end with the server, and
the server with the launcher.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from leakrange.service.parent import die_with

__all__ = ["ForkServer", "Forked"]

LONGEST = 64
"""Bytes of the longest message."""


class Forked:
    """A party that the server has forked, with the interface of a `subprocess.Popen` for the launcher."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server, self.pid = server, pid

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        self._server.hear()
        return self._server.ended.get(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises `subprocess.TimeoutExpired`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            self._server.hear(left)
        return code

    def terminate(self) -> None:
        """Ask it to end; does nothing if it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class ForkServer:
    """The launcher's side. Call all methods from the main thread: the kernel's "parent" is the thread.

    ``modules`` are the packages of the parties, whose modules the server imports with ``environment``.
    """

    def __init__(self, modules: Iterable[str], environment: Mapping[str, str]) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ready = False
        """Whether it has imported everything; false again when it has ended."""
        self.ended: dict[int, int] = {}
        """The exit codes of the parties that have ended, by process."""
        self._forked: set[int] = set()
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(number), str(os.getpid()), *sorted(set(modules))],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                pass_fds=[number],
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Return whether it runs."""
        return self._process.poll() is None

    def fork(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
    ) -> Forked | None:
        """Start ``python -m module …`` as a session of its own, output to ``log``; None if the server has
        ended."""
        order = {"command": command[2:], "environment": dict(environment), "folder": str(folder)}
        folder.mkdir(parents=True, exist_ok=True)
        reading, writing = os.pipe()
        with log.open("ab") as output:
            try:
                socket.send_fds(self._link, [b"."], [reading, output.fileno()])
            except OSError:
                os.close(writing)
                return None
            finally:
                os.close(reading)
        before = set(self._forked)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(orjson.dumps(order))
        while self.ready and self._forked == before:
            self.hear(None)
        new = self._forked - before
        return Forked(self, new.pop()) if new else None

    def hear(self, seconds: float | None = 0.0) -> None:
        """Process one message of the server, waiting for it at most ``seconds``, or without limit if None."""
        self._link.settimeout(seconds)
        try:
            message = self._link.recv(LONGEST)
        except (BlockingIOError, TimeoutError):
            return
        except ConnectionError:
            message = b""
        match message.split():
            case [b"ready"]:
                self.ready = True
            case [b"forked", pid]:
                self._forked.add(int(pid))
            case [b"ended", pid, code]:
                self._forked.discard(int(pid))
                self.ended[int(pid)] = int(code)
            case _:  # it has ended, and the kernel has killed all that it had forked
                self.ready = False
                self.ended |= dict.fromkeys(self._forked, -signal.SIGKILL)
                self._forked.clear()

    def end(self) -> None:
        """End the server, and with it whatever it has forked."""
        self._process.kill()
        self._process.wait()
        self._link.close()


def main() -> None:
    """Import, then fork whatever is ordered, until the launcher closes the link."""
    link, launcher, modules = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3:]
    die_with(launcher)
    for name in modules:
        for module in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("an import has started a thread: what it holds would stay locked in a child")
    gc.collect()
    gc.freeze()  # the collector writes to what it visits, which would undo the sharing
    link.send(b"ready")
    if (child := _serve(link)) is not None:
        _become(*child)


def _serve(link: socket.socket) -> tuple[int, int, int] | None:
    """Fork until the launcher closes the link. Returns in each child too: the process of the server, and the
    descriptors of the order and the log."""
    server = os.getpid()
    with link, selectors.DefaultSelector() as selector:
        selector.register(link, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not link:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _, status = os.waitpid(key.data, 0)
                    link.send(f"ended {key.data} {os.waitstatus_to_exitcode(status)}".encode())
                    continue
                ordered, descriptors, _, _ = socket.recv_fds(link, 1, 2)
                if not ordered:
                    return None
                if (pid := os.fork()) == 0:
                    for other in selector.get_map().values():
                        if other.fileobj is not link:
                            os.close(other.fd)
                    return server, descriptors[0], descriptors[1]
                for descriptor in descriptors:
                    os.close(descriptor)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                link.send(f"forked {pid}".encode())


def _become(server: int, order: int, log: int) -> None:
    """In a forked child: become the party that the order describes."""
    die_with(server)
    os.setsid()
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    with os.fdopen(order, "rb") as pipe:
        given: dict[str, Any] = orjson.loads(pipe.read())
    os.environ.clear()
    os.environ.update(given["environment"])
    os.chdir(given["folder"])
    module, *arguments = given["command"]
    _show([sys.executable, "-m", module, *arguments])
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _show(command: Sequence[str]) -> None:
    """Have ``ps`` show that command for this process, as far as there is room."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    shown = "\0".join(command).encode()[: end - start - 1]
    ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


if __name__ == "__main__":
    main()
