"""What a page shows in a figure: a chart, or pictures that were found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from leakrange.report.charts.definition import Definition
from leakrange.report.charts.table import Table

__all__ = ["Key", "Picture"]


@dataclass(frozen=True)
class Key:
    """One entry of a legend: its text, and the colour, marker or dash that stands for it."""

    text: str
    colour: int | None = None
    marker: int | None = None
    dash: int | None = None


@dataclass(frozen=True)
class Picture(ABC):
    """A figure: a heading, what it shows in words, what stands beside it, the data that it is drawn from, and
    how these were measured."""

    title: str
    label: str
    note: str = ""
    keys: tuple[Key, ...] = ()
    table: Table = field(default_factory=Table)
    definition: Definition = field(default_factory=Definition)
    name: str = ""
    """By which it is asked for, the same at any state of a run; a report gives it."""

    @cached_property
    def digest(self) -> str:
        """Of all that it shows."""
        shown = (self.title, self.label, self.note, self.keys, self.table)
        return sha256(repr(shown).encode()).hexdigest()[:12]

    @property
    @abstractmethod
    def svg(self) -> str:
        """An SVG element that stands in a page and loads nothing."""
