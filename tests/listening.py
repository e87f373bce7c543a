"""The command that records answers, as a process of its own."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.embedded import COMMAND, clean, wait_for

__all__ = ["OPERATOR", "Listening", "listening"]

OPERATOR = "an operator key of a test"


class Listening:
    """A listener at ``address``; ``told`` is what it wrote to standard error, once it has ended."""

    def __init__(self, address: str) -> None:
        self.address, self.told = address, ""

    def answers(self) -> bool:
        """Whether it answers yet."""
        try:
            return httpx.get(self.address).is_success
        except httpx.ConnectError:
            return False


@contextmanager
def listening(folder: Path, arguments: Sequence[str]) -> Iterator[Listening]:
    """Run ``leakrange`` with these arguments in a folder until the block ends, and then stop it."""
    process = subprocess.Popen(
        [COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean() | {"LEAKRANGE_OPERATOR_KEY": OPERATOR},
    )
    try:
        assert process.stdout is not None
        listener = Listening(process.stdout.readline().strip())
        wait_for(listener.answers, "the listener", 60)
        yield listener
        process.send_signal(signal.SIGTERM)
        _, listener.told = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
