"""Papers by name: what each printed, and which trials of a range measure it again. One package per paper."""

from __future__ import annotations

from leakrange.papers.paper import Paper
from leakrange.registry import Registry

__all__ = ["Paper", "papers"]

papers: Registry[type[Paper]] = Registry("paper", "leakrange.papers")
