"""Full disks: every failed write raises the same error, which names the folder."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leakrange.wire.errors import StorageFull

__all__ = ["is_full", "room_in", "storage_full"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No space, no quota, or a limit on the size of files."""


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Raise `StorageFull` where a write to ``folder`` in the block finds no room; other errors pass."""
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
    """The error that ``folder`` has no room left."""
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    found = shutil.disk_usage(there)
    return StorageFull(
        f"the disk is full: nothing more can be written to {folder} "
        f"({found.free / 2**20:.1f} MiB of {found.total / 2**20:.0f} are free)"
    )
