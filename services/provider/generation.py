"""The way in which several processes that serve one state folder learn of each other's changes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import mmap
import os
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

__all__ = ["Generation"]

COUNT = struct.Struct("<Q")
PAUSE = 0.002
"""Seconds between two looks at a change that another process makes."""


class Generation:
    """A number in the state folder that grows with every change: odd while a change is written to the
    database, even otherwise.

    Each process reads it for every request, from memory that all of them share. So it knows at no cost
    whether its own memory still equals the database. A process that makes a change holds a lock, which the
    system releases where that process dies; the number is then still odd, and the others look at the
    database.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine = asyncio.Lock()
        self._file = -1
        self._memory: mmap.mmap | None = None

    def open(self) -> None:
        """Open the file, which is created where it is missing. Raises `OSError`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self._folder / "generation", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            if os.fstat(self._file).st_size < COUNT.size:
                os.pwrite(self._file, COUNT.pack(2), 0)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._memory = mmap.mmap(self._file, COUNT.size, access=mmap.ACCESS_READ)

    def close(self) -> None:
        """Close the file; a lock that is held is released."""
        if self._memory is not None:
            self._memory.close()
            os.close(self._file)
            self._memory = None

    @property
    def now(self) -> int:
        """The number; 0 before the file is open."""
        if self._memory is None:
            return 0
        number: int = COUNT.unpack_from(self._memory)[0]
        return number

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Inside the ``with`` block nobody else changes anything, in this process or another."""
        async with self._mine:
            while not self._locked():  # noqa: ASYNC110  # another process holds it
                await asyncio.sleep(PAUSE)
            try:
                self._settle()
                yield
            finally:
                self._unlock()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Inside `changing`: everything that is written to the database inside the ``with`` block is a new
        generation."""
        self._put(self.now | 1)
        try:
            yield
        finally:
            self._put(self.now + 1)

    async def settled(self) -> int:
        """The number, once no change is being written."""
        while (now := self.now) % 2:
            if not self._mine.locked() and self._locked():
                self._settle()
                self._unlock()
            else:
                await asyncio.sleep(PAUSE)
        return now

    def _settle(self) -> None:
        """End the change of a process that died while it wrote. The caller holds the lock."""
        if self.now % 2:
            self._put(self.now + 1)

    def _locked(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def _unlock(self) -> None:
        if self._memory is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _put(self, number: int) -> None:
        # Written to the file, not to the memory: there a full disk would be a signal that ends the process.
        os.pwrite(self._file, COUNT.pack(number), 0)
