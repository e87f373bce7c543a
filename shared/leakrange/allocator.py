"""How glibc should hold memory in a process that computes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["ALLOCATOR", "start_anew"]

ALLOCATOR: Mapping[str, str] = MappingProxyType(
    {
        "MALLOC_MMAP_THRESHOLD_": "4294967296",
        "MALLOC_TRIM_THRESHOLD_": "8589934592",
        "MALLOC_TOP_PAD_": "268435456",
    }
)
"""Environment variables, read when a process starts: glibc would map and unmap every large activation, which
doubles the time of a step on a CPU."""


def start_anew(module: str) -> None:
    """Where the environment lacks a setting, start ``python -m module`` in the place of this process, with
    all of them: glibc reads them only then. What the environment says already holds. Call it before anything
    is imported that takes long."""
    if sys.platform == "linux" and ALLOCATOR.keys() - os.environ.keys():
        command = [sys.executable, "-m", module, *sys.argv[1:]]
        os.execve(sys.executable, command, {**ALLOCATOR, **os.environ})
