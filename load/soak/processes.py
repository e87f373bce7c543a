"""Resources of processes: memory, files and sockets, read from ``/proc`` (Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ProcessUse", "held", "look"]

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessUse:
    """Resources of one process at one moment: resident ``memory`` in MiB, and the numbers of open ``files``
    and of ``sockets`` among them."""

    memory: float
    files: int
    sockets: int


def held(pid: int) -> ProcessUse:
    """The present resources of a process. Raises `ProcessLookupError` where it is gone."""
    try:
        pages = int((PROC / str(pid) / "statm").read_text().split()[1])
        files = list((PROC / str(pid) / "fd").iterdir())
    except FileNotFoundError:
        raise ProcessLookupError(f"no process {pid}") from None
    sockets = sum(_leads_to(file).startswith("socket:") for file in files)
    return ProcessUse(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(files), sockets)


def look(roots: Mapping[str, int]) -> dict[str, ProcessUse]:
    """The resources of each named process, and of each process that it has started: ``proxy``, and
    ``proxy/4711`` for its worker. Raises `ProcessLookupError` where a named one is gone."""
    by_name = {}
    for name, root in roots.items():
        by_name[name] = held(root)
        for child in _descendants(root):
            try:
                by_name[f"{name}/{child}"] = held(child)
            except ProcessLookupError:
                continue  # it ended meanwhile
    return by_name


def _descendants(pid: int) -> Iterator[int]:
    for task in (PROC / str(pid) / "task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield child
            yield from _descendants(child)


def _leads_to(file: Path) -> str:
    try:
        return os.readlink(file)
    except FileNotFoundError:
        return ""  # closed meanwhile
