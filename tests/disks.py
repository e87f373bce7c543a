"""Disks that are really full: small ones of their own, in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["fill", "small_disk"]


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """An empty disk of that size, mounted at ``folder``, which is made."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small disk can be mounted by root alone")
    folder.mkdir(parents=True)
    options = f"size={megabytes}m"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no room on the disk of ``folder``; the file to delete to have it again."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**16, 2**12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler
