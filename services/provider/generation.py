"""The way in which several processes that serve one provider's state learn of each other's changes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import mmap
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

__all__ = ["FileGeneration", "Follow", "Generation"]

COUNT = struct.Struct("<Q")
PAUSE = 0.002
"""Seconds between two looks at a change that another process makes."""
Follow = Callable[[], Awaitable[None]]
"""What brings the memory of this process to what is stored."""


class Generation(ABC):
    """A number that grows with every change of the stored state. Each process knows at no cost whether its
    own memory still equals what is stored."""

    @abstractmethod
    async def open(self, follow: Follow) -> None:
        """Begin, and ``follow``, as whenever others have changed something."""

    @abstractmethod
    async def close(self) -> None:
        """Stop; a lock that is held is released."""

    @property
    @abstractmethod
    def stale(self) -> bool:
        """Whether the memory of this process may differ from what is stored."""

    @abstractmethod
    async def settled(self) -> int:
        """The number, once no change is being written: what is read afterwards is at least as new. Raises
        `Unavailable` where nobody can know it."""

    @abstractmethod
    def followed(self, number: int) -> None:
        """Note that the memory of this process is what was stored at that number, or later."""

    @abstractmethod
    def changing(self) -> AbstractAsyncContextManager[None]:
        """Inside the ``async with`` block nobody else changes anything, in this process or another. After it,
        all others have what was written, or answer nobody until they have."""

    @abstractmethod
    def writing(self) -> AbstractAsyncContextManager[None]:
        """Inside `changing`: everything that is stored inside the ``async with`` block is a new generation,
        which this process knows already."""


class FileGeneration(Generation):
    """The number in a file of the state folder: odd while a change is written to the database, even
    otherwise.

    Each process reads it for every request, from memory that all of them share. A process that makes a change
    holds a lock, which the system releases where that process dies; the number is then still odd, and the
    others look at the database.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine = asyncio.Lock()
        self._file = -1
        self._memory: mmap.mmap | None = None
        self._seen = 0

    async def open(self, follow: Follow) -> None:
        """See `Generation.open`: creates the file where it is missing. Raises `OSError`."""
        await asyncio.to_thread(self._open)
        await follow()

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self._folder / "generation", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            if os.fstat(self._file).st_size < COUNT.size:
                os.pwrite(self._file, COUNT.pack(2), 0)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._memory = mmap.mmap(self._file, COUNT.size, access=mmap.ACCESS_READ)

    async def close(self) -> None:
        """See `Generation.close`."""
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

    @property
    def stale(self) -> bool:
        """See `Generation.stale`."""
        return self.now != self._seen

    def followed(self, number: int) -> None:
        """See `Generation.followed`."""
        self._seen = number

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """See `Generation.changing`."""
        async with self._mine:
            while not self._locked():  # noqa: ASYNC110  # another process holds it
                await asyncio.sleep(PAUSE)
            try:
                self._settle()
                yield
            finally:
                self._unlock()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """See `Generation.writing`."""
        self._put(self.now | 1)
        try:
            yield
        finally:
            self._put(self.now + 1)
        self._seen = self.now

    async def settled(self) -> int:
        """See `Generation.settled`."""
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
