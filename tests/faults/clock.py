"""A Redis-protocol server whose clock can be set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import start_redis

__all__ = ["ClockedRedis", "clocked_redis"]


class ClockedRedis:
    """Keeps its data in memory; `restart` loses them."""

    def __init__(self, folder: Path, library: Path) -> None:
        self._folder, self._offset = folder, folder / "offset"
        self.jump(0)
        self._environment = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self._process, self.port = start_redis(folder, environment=self._environment)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def jump(self, seconds: int) -> None:
        """Have its clock so far ahead of ours from now on (negative: behind)."""
        fresh = self._offset.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}s\n")
        os.replace(fresh, self._offset)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def start_again(self) -> None:
        """With nothing in it."""
        self._process, _ = start_redis(self._folder, self.port, self._environment)


@contextmanager
def clocked_redis(folder: Path) -> Iterator[ClockedRedis]:
    """Such a server, until the block ends."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        pytest.skip("no libfaketime here (apt-get install faketime)")
    made = ClockedRedis(folder, found[0])
    yield made
    made.kill()
