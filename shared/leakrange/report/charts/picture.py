"""What a page shows in a figure: a chart, or pictures that were found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

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
    """A figure: a heading, what it shows in words, and what stands beside it."""

    title: str
    label: str
    note: str = ""
    keys: tuple[Key, ...] = ()

    @property
    @abstractmethod
    def svg(self) -> str:
        """An SVG element that stands in a page and loads nothing."""
