"""Child processes: their logs and process groups, and how they end when the launcher dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from leakrange.service.parent import die_with

__all__ = ["command_line", "kill_group", "last_lines", "owner_only", "previous", "rotate", "spawn"]


@contextmanager
def owner_only() -> Iterator[None]:
    """Make files that are created within, also by child processes, readable by their owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def spawn(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
) -> subprocess.Popen[bytes]:
    """Start ``command`` in a session of its own (so that Ctrl-C reaches the launcher alone), output to
    ``log``. Call it from the main thread: the kernel's "parent" is the thread.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with, os.getpid()) if sys.platform == "linux" else None,
        )


def kill_group(pid: int, sign: signal.Signals) -> None:
    """Signal a session that `spawn` began, with all its descendants; does nothing if it is gone."""
    try:
        os.killpg(pid, sign)
    except (ProcessLookupError, PermissionError):  # macOS says EPERM for a group of zombies
        return


def command_line(pid: int) -> str:
    """The command of a living process, else an empty string."""
    listed = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True)
    return listed.stdout.strip()


def rotate(log: Path) -> None:
    """Begin a new log; the one before is kept as ``.1``."""
    if log.exists():
        os.replace(log, previous(log))


def previous(log: Path) -> Path:
    """The path of the log before."""
    return log.with_suffix(".log.1")


def last_lines(log: Path, count: int = 15) -> tuple[str, ...]:
    """The end of a log."""
    try:
        return tuple(log.read_text(errors="replace").splitlines()[-count:])
    except FileNotFoundError:
        return ()
