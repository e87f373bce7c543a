"""An embedded range for tests, used as a user does: through the ``leakrange`` command."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from leakrange.client.embedded import RangeRecord
from leakrange.clients.cli.embedded.redis_server import redis_url
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.main import main
from leakrange.service.parties import FLEET_REDIS, RedisUser
from tests.patience import until

__all__ = ["COMMAND", "Done", "EmbeddedRange", "alive", "clean", "leakrange", "wait_for"]

COMMAND = str(Path(sys.executable).parent / "leakrange")


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    returncode: int
    stdout: str
    stderr: str


def leakrange(*arguments: str, **environment: str) -> Done:
    """Run the command to its end, with no LEAKRANGE_ variables but those given.

    What stands up a range gets a process of its own, for it takes over signals and leaves a process behind;
    the others run in this one, since starting Python takes longer than what they do.
    """
    out, told = io.StringIO(), io.StringIO()
    alone = arguments[0] == "reproduce" and not {"--show", "--state", "--url"}.intersection(arguments)
    if arguments[0] == "up" or alone:
        seconds = 3600 if alone else 200
        done = subprocess.run(
            [COMMAND, *arguments], capture_output=True, text=True, timeout=seconds, env=clean() | environment
        )
        return Done(done.returncode, done.stdout, done.stderr)
    with (
        mock.patch.dict(os.environ, clean() | environment, clear=True),
        mock.patch.object(sys, "argv", ["leakrange", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(told),
    ):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return Done(code, out.getvalue(), told.getvalue())


def clean() -> dict[str, str]:
    """Our environment without what would lead the command to another range."""
    return {name: value for name, value in os.environ.items() if not name.startswith("LEAKRANGE_")}


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    found = subprocess.run(["ps", "-p", str(pid), "-o", "stat="], capture_output=True, text=True).stdout
    return bool(found.strip()) and not found.strip().startswith("Z")


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 180.0) -> None:
    """Return as soon as ``condition`` holds; fail after ``seconds``, or more on a busy machine."""
    until(condition, seconds, what)


class EmbeddedRange:
    """A range in ``root``; `up` first. ``data`` is a place for data sets, which it only sees if it is told
    so."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = StateFolder(root)
        self.data = root.with_name(f"{root.name}-data")

    def up(self, **environment: str) -> None:
        """Stand it up on free ports, with these variables and no others of ours."""
        options = ["--detach", "--traces", "--state", str(self.root), "--ports", "0"]
        done = leakrange("up", *options, **environment)
        assert done.returncode == 0, done.stderr

    def down(self) -> None:
        """Stop it, and see that nothing of it is left."""
        pids = self.pids()
        done = self("down")
        assert done.returncode == 0, done.stderr
        wait_for(lambda: not any(alive(pid) for pid in pids), "all processes to be gone", 2)
        assert self.folder.record() is None

    def __call__(self, *arguments: str, **environment: str) -> Done:
        """Run a command against it."""
        return leakrange(*arguments, "--state", str(self.root), **environment)

    @property
    def record(self) -> RangeRecord:
        """What it says of itself now."""
        record = self.folder.record()
        assert record is not None, "no range is running"
        return record

    def redis_url(self, user: RedisUser, server: str = FLEET_REDIS) -> str:
        """One of its Redis servers, as that user reaches it."""
        return redis_url(self.folder, self.record.port(server), user)

    def pids(self) -> list[int]:
        """The launcher's and all parties' processes."""
        return [self.record.launcher, *(party.pid for party in self.record.parties if party.pid)]

    def pid(self, name: str) -> int | None:
        """The process of one party, None while it is restarting."""
        return self.record.party(name).pid
