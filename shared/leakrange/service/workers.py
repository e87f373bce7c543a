"""Several processes behind one port: a parent that starts workers, replaces those that die, and drains them.

Each worker listens by itself (``SO_REUSEPORT``), and the kernel spreads new connections over them. A worker
is a fork of the parent, made before any event loop, thread or network of the parent's own: what both have
imported is in memory once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import structlog
from uvicorn.config import STARTUP_FAILURE

from leakrange.service.parent import die_with

__all__ = ["Worker", "listening", "supervise", "this_worker"]

log = structlog.get_logger("leakrange.service.workers")
PAUSE = 1.0
"""Seconds before a worker is replaced that died within as many."""
ENDING = frozenset({signal.SIGTERM, signal.SIGINT})


@dataclass(frozen=True)
class Worker:
    """One of the processes behind a port: its number from 0 on, and the folder of the sockets of all
    workers."""

    number: int
    folder: Path


_me: Worker | None = None


def this_worker() -> Worker | None:
    """Return the worker that this process is; None if it serves alone."""
    return _me


@contextmanager
def listening(host: str, port: int, *, shared: bool = True) -> Iterator[list[socket.socket]]:
    """Return sockets bound to every address of ``host``; other sockets may share the port if ``shared``.

    Raises `OSError` if the port is taken.
    """
    with contextlib.ExitStack() as stack:
        bound = []
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(places):
            listener = stack.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            bound.append(listener)
        yield bound


def supervise(work: Callable[[], None], count: int) -> int:
    """Run ``work`` in ``count`` workers until SIGTERM or SIGINT, then tell them and wait.

    A worker that dies is replaced. If one fails at its first start, all are stopped. Returns the exit status:
    0, or that of the failed start. Call it from the main thread.
    """
    with TemporaryDirectory(prefix="leakrange-workers-") as folder:
        return _Supervisor(work, Path(folder)).run(count)


class _Supervisor:
    def __init__(self, work: Callable[[], None], folder: Path) -> None:
        self._work, self._folder = work, folder
        self._running: dict[int, tuple[int, float]] = {}
        """Process id to a worker's number and start."""
        self._stopping = False

    def run(self, count: int) -> int:
        before = {sign: signal.signal(sign, self._stop) for sign in ENDING}
        status = 0
        try:
            for number in range(count):
                self._start(number)
            replaced: set[int] = set()
            while self._running:
                pid, how = os.wait()
                number, since = self._running.pop(pid)
                if self._stopping:
                    continue
                ended = os.waitstatus_to_exitcode(how)
                log.error("worker died", worker=number, pid=pid, status=ended)
                if ended == STARTUP_FAILURE and number not in replaced:
                    status = ended
                    self._stop()
                    continue
                if time.monotonic() - since < PAUSE:
                    time.sleep(PAUSE)
                replaced.add(number)
                self._start(number)
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)
        return status

    def _start(self, number: int) -> None:
        # Blocked meanwhile: a signal must find the new worker among the running ones, or no new worker.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            if self._stopping:
                return
            parent = os.getpid()
            if (pid := os.fork()) == 0:
                self._be(Worker(number, self._folder), parent)
            self._running[pid] = number, time.monotonic()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def _be(self, worker: Worker, parent: int) -> None:
        """Run the forked process; does not return."""
        global _me
        _me, status = worker, 1
        try:
            die_with(parent)
            for sign in ENDING:
                signal.signal(sign, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            self._work()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException as error:
            log.error("worker failed", worker=worker.number, exc_info=error)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)  # nothing of the parent's is to be cleaned up here

    def _stop(self, _sign: int = signal.SIGTERM, _frame: FrameType | None = None) -> None:
        self._stopping = True
        for pid in list(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
