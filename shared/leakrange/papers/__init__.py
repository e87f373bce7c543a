"""Papers by name: the printed figures of each, and the trials of a range that measure them again. One package
per paper."""

from __future__ import annotations

from leakrange.papers.paper import Paper
from leakrange.registry import Registry

__all__ = ["Paper", "papers"]

papers: Registry[type[Paper]] = Registry("paper", "leakrange.papers")
