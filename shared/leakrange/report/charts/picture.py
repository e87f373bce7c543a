"""The content of a figure on a page: a chart, or pictures that an attack reconstructed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from leakrange.wire.views import Definition, Key, Table

__all__ = ["Picture"]


@dataclass(frozen=True)
class Picture(ABC):
    """A figure: a heading, its description in words, a note, the data that it is drawn from, and their
    definition."""

    title: str
    label: str
    note: str = ""
    keys: tuple[Key, ...] = ()
    table: Table = field(default_factory=Table)
    definition: Definition = field(default_factory=Definition)
    name: str = ""
    """The name in requests for it, the same at any state of a run; a report gives it."""

    @cached_property
    def digest(self) -> str:
        """The digest of everything that it shows."""
        contents = (self.title, self.label, self.note, self.keys, self.table)
        return sha256(repr(contents).encode()).hexdigest()[:12]

    @property
    @abstractmethod
    def svg(self) -> str:
        """A self-contained SVG element for a page."""
