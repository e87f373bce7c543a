"""Start an embedded range, in this process or in one that outlives it; find and stop one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from leakrange.client.embedded import PartyRecord, RangeRecord
from leakrange.clients.cli.embedded.parties import processes
from leakrange.clients.cli.embedded.ports import assign, check_free, claimed
from leakrange.clients.cli.embedded.process import last_lines, owner_only, rotate
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.embedded.supervisor import ProcessSupervisor, end_leftovers
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.wire.disk import storage_full

__all__ = ["Settings", "check_room", "detach", "ending", "serve", "stop"]

NEEDED = ("alembic", "celery", "redis", "safetensors", "sklearn", "sqlalchemy", "torch", "vl_convert")
STOP_SECONDS = 40.0
LEAST_FREE = 8 * 2**20
"""Bytes on the disk without which a range is not begun."""


@dataclass(frozen=True)
class Settings:
    """The options of ``leakrange up``."""

    folder: StateFolder
    base: int
    workers: int


@owner_only()
def serve(
    settings: Settings,
    *,
    announce: Callable[[str], None],
    starting: Callable[[RangeRecord], None],
    ready: Callable[[RangeRecord], None],
) -> bool:
    """Run the range in this process until a signal asks for its end; False if that came before it stood.

    ``starting`` is called with the record, which changes while the parties start, and ``ready`` when all are
    ready. Raises `CliError` if the folder is in use, a port is taken, something is not installed, or a party
    dies at start; all others are stopped then.
    """
    folder = settings.folder
    check_room(folder.root)
    if not folder.hold():
        raise already_running(folder)
    _clear(folder, announce)
    with ExitStack() as claims:
        try:
            ports = assign(settings.base)
            check_free(ports)
            claims.enter_context(claimed(ports.values()))
            supervisor = _prepare(settings, ports, announce)
        except CliError as error:
            folder.write(_failed(_record(folder, {}), error))
            raise
        return _served(supervisor, announce, starting, ready)


def _served(
    supervisor: ProcessSupervisor,
    announce: Callable[[str], None],
    starting: Callable[[RangeRecord], None],
    ready: Callable[[RangeRecord], None],
) -> bool:
    folder = supervisor.folder
    before = {
        number: signal.signal(number, supervisor.request_stop)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        starting(supervisor.record)
        stood = supervisor.start()
        if stood:
            ready(supervisor.record)
            supervisor.watch()
    except CliError as error:
        supervisor.stop()
        folder.write(_failed(supervisor.record, error))
        raise
    except BaseException as error:
        # Nobody asked for this end, so the record has to say why it came.
        supervisor.stop()
        reason = CliError(f"the launcher met {type(error).__name__}: {error}", code=Exit.NOT_STARTED)
        folder.write(_failed(supervisor.record, reason))
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    announce("stopping all parties")
    supervisor.stop()
    folder.forget()
    return stood


@owner_only()
def detach(settings: Settings, *, starting: Callable[[RangeRecord], None]) -> RangeRecord:
    """Start a process that serves the range, and return the record when all parties are ready. Until then
    ``starting`` is called with the record again and again. Raises `CliError` as `serve` does.
    """
    folder = settings.folder
    check_room(folder.root)
    if not folder.hold():
        raise already_running(folder)
    log = folder.log("launcher")
    rotate(log)
    options = ["--state", str(folder.root), "--ports", str(settings.base), "--workers", str(settings.workers)]
    with folder.handed_on() as lock, log.open("ab") as output:
        launcher = subprocess.Popen(
            [sys.executable, "-m", "leakrange.clients.cli.embedded", *options, "--lock", str(lock)],
            pass_fds=[lock],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while True:
            code = launcher.poll()
            record = folder.record()
            if record is not None and record.launcher == launcher.pid:
                starting(record)
                if record.state == "ready":
                    return record
            if code is not None:
                raise _start_error(record if record and record.launcher == launcher.pid else None, folder)
            time.sleep(0.1)
    except KeyboardInterrupt:
        launcher.terminate()
        launcher.wait()
        raise CliError("interrupted; nothing was left running", code=Exit.INTERRUPTED) from None


def stop(folder: StateFolder, announce: Callable[[str], None]) -> bool:
    """Stop the range of ``folder`` and wait until its processes are gone; False if there were none."""
    record = folder.record()
    if not folder.held():
        _clear(folder, announce)
        return False
    deadline = time.monotonic() + STOP_SECONDS
    while record is None:  # its launcher has only just started and written nothing yet
        if time.monotonic() > deadline:
            raise CliError(f"{folder.root} is in use by an unknown process", code=Exit.NOT_STARTED)
        time.sleep(0.05)
        record = folder.record()
    os.kill(record.launcher, signal.SIGTERM)
    while folder.held():
        if time.monotonic() > deadline:
            os.kill(record.launcher, signal.SIGKILL)
            end_leftovers(record)
            folder.forget()
            raise CliError(
                f"the range did not stop within {STOP_SECONDS:.0f} s and was killed", code=Exit.NOT_STARTED
            )
        time.sleep(0.05)
    return True


def ending(folder: StateFolder) -> tuple[str, str] | None:
    """Describe how the last range of ``folder`` ended if nobody stopped it, and what to do about it. None if
    there was no range, or if it still runs."""
    record = folder.record()
    if record is None or folder.held():
        return None
    again = "'leakrange up' tidies up and starts it again"
    if record.state != "failed":
        return (
            f"the range in {folder.root} ended without stopping: its launcher was killed, or the machine",
            again,
        )
    if not record.stood:
        return f"the last start in {folder.root} failed: {record.error}", record.hint or again
    log = folder.log("launcher")
    return (
        f"the range in {folder.root} ended by itself: {record.error}",
        f"{again}; the launcher's log is {log}",
    )


def already_running(folder: StateFolder) -> CliError:
    """Return the error for a second start in one folder."""
    record = folder.record()
    return CliError(
        f"a range is running in {folder.root}: its controller is at {record.controller}"
        if record is not None and record.state == "ready"
        else f"a range is starting in {folder.root}",
        code=Exit.NOT_STARTED,
        hint="stop it with 'leakrange down', or give another folder with --state (and other --ports)",
    )


def _prepare(settings: Settings, ports: dict[str, int], announce: Callable[[str], None]) -> ProcessSupervisor:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CliError(
            f"the embedded range needs packages that are not installed: {', '.join(missing)}",
            code=Exit.NOT_STARTED,
            hint="pip install 'leakrange[embedded]'",
        )
    folder = settings.folder
    chosen = processes(folder, ports, workers=settings.workers)
    record = _record(folder, ports)
    record.parties = [PartyRecord(name=party.name, port=party.port) for party in chosen]
    return ProcessSupervisor(folder, chosen, record, announce)


def _record(folder: StateFolder, ports: dict[str, int]) -> RangeRecord:
    return RangeRecord(
        launcher=os.getpid(),
        controller=f"http://127.0.0.1:{ports.get('controller', 0)}",
        proxy=f"http://127.0.0.1:{ports.get('proxy', 0)}",
        edge=f"http://127.0.0.1:{ports.get('edge', 0)}",
        operator_key=folder.secret("operator"),
        parties=[],
    )


def _failed(record: RangeRecord, error: CliError) -> RangeRecord:
    record.state, record.error, record.hint = "failed", error.message, error.hint
    record.error_lines = list(error.lines)
    return record


def check_room(folder: Path) -> None:
    """Raise `CliError` if the disk of ``folder`` has no room for a range's logs and databases."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if shutil.disk_usage(there).free < LEAST_FREE:
        raise CliError(
            storage_full(folder).detail,
            code=Exit.NOT_STARTED,
            hint=f"a range needs {LEAST_FREE / 2**20:.0f} MiB to start: free space there, or give another"
            " folder with --state",
        )


def _start_error(record: RangeRecord | None, folder: StateFolder) -> CliError:
    check_room(folder.root)  # without it there may be neither record nor log
    if record is not None and record.error is not None:
        return CliError(
            record.error, code=Exit.NOT_STARTED, hint=record.hint, lines=tuple(record.error_lines)
        )
    log = folder.log("launcher")
    return CliError(
        "the launcher ended before the range stood",
        code=Exit.NOT_STARTED,
        hint=f"the whole log is {log}",
        lines=last_lines(log),
    )


def _clear(folder: StateFolder, announce: Callable[[str], None]) -> None:
    """Tidy up after a launcher that crashed or failed. Call it only while holding the folder, or while nobody
    holds it."""
    record = folder.record()
    if record is None:
        return
    if record.state != "failed":
        announce(f"the last range here (launcher {record.launcher}) ended without stopping: tidying up")
        if ended := end_leftovers(record):
            announce(f"ended what was left of it: {', '.join(ended)}")
    folder.forget()
