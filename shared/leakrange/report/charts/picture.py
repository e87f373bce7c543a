"""The content of a figure on a page: a chart, or pictures that an attack reconstructed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Literal

from leakrange.wire.views import Definition, Key, PictureView, Table

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
    kind: ClassVar[Literal["vega-lite", "gallery", "svg"]] = "svg"
    """What front ends draw it from: a specification, strips of pictures, or the SVG."""

    @cached_property
    def digest(self) -> str:
        """The digest of everything that it shows."""
        contents = (self.title, self.label, self.note, self.keys, self.table)
        return sha256(repr(contents).encode()).hexdigest()[:12]

    @property
    @abstractmethod
    def svg(self) -> str:
        """A self-contained SVG element for a page."""

    def data(self, *, table: bool = False) -> PictureView:
        """The picture as data for front ends, with its ``table`` or without."""
        return PictureView(
            name=self.name,
            title=self.title,
            label=self.label,
            note=self.note,
            kind=self.kind,
            keys=list(self.keys),
            definition=self.definition,
            rows=len(self.table.rows),
            table=self.table if table else None,
            **self._drawn_from(),
        )

    def _drawn_from(self) -> dict[str, Any]:
        """The field of the data that its kind names."""
        return {"svg": self.svg}
