"""How glibc should hold memory in a process that computes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["ALLOCATOR"]

ALLOCATOR: Mapping[str, str] = MappingProxyType(
    {
        "MALLOC_MMAP_THRESHOLD_": "4294967296",
        "MALLOC_TRIM_THRESHOLD_": "8589934592",
        "MALLOC_TOP_PAD_": "268435456",
    }
)
"""Environment variables, read when a process starts: glibc would map and unmap every large activation, which
doubles the time of a step on a CPU."""
