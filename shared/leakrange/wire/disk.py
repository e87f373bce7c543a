"""Files in folders that several parties write to, and full disks.

A file that one party has put there cannot lead another out of the folder, or keep it reading for ever. Every
write that finds no room raises the same error, which names the folder.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leakrange.wire.errors import StorageFull

__all__ = ["is_full", "read_regular", "room_in", "storage_full"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No space, no quota, or a limit on the size of files."""


def read_regular(root: Path, name: str, most: int | None = None) -> bytes:
    """Return the content of the file ``name`` below ``root``, of at most ``most`` bytes.

    Raises `OSError` as `open` does, and for a symbolic link below the root, for anything but a regular file
    (a pipe, a device), and for a larger file; none of these is read.
    """
    *folders, last = Path(name).parts
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = _opened(folder, at, os.O_DIRECTORY)
            os.close(at)
            at = inner
        with os.fdopen(_opened(last, at, os.O_NONBLOCK), "rb") as file:  # a pipe is not waited for
            there = os.fstat(file.fileno())
            if stat.S_ISDIR(there.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(root / name))
            if not stat.S_ISREG(there.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file", str(root / name))
            if most is not None and there.st_size > most:
                raise OSError(errno.EINVAL, f"it is larger than {most} bytes", str(root / name))
            return file.read()
    finally:
        os.close(at)


def _opened(name: str, folder: int, flags: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, folder):
            raise OSError(errno.ELOOP, "it is a symbolic link", name) from error
        raise


def _is_link(name: str, folder: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Raise `StorageFull` if a write to ``folder`` in the block finds no room; other errors pass."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise storage_full(folder) from error


def is_full(error: OSError) -> bool:
    """Whether the error is a full disk."""
    return error.errno in FULL


def storage_full(folder: Path) -> StorageFull:
    """Return the error for a ``folder`` without room."""
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    usage = shutil.disk_usage(there)
    return StorageFull(
        f"the disk is full: nothing more can be written to {folder} "
        f"({usage.free / 2**20:.1f} MiB of {usage.total / 2**20:.0f} are free)"
    )
