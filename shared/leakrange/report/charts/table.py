"""The data of a figure as a table: columns with names and units, and rows for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Column", "Table", "Value", "cell"]

Value = str | int | float | None
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNITS = {"share": "share of 1", "score": "0 to 1", "count": "", "number": ""}


@dataclass(frozen=True)
class Column:
    """A heading, and the unit of what stands below it; ``""`` for names and plain numbers."""

    name: str
    unit: str = ""

    @classmethod
    def of(cls, name: str, unit: str) -> Column:
        """With the unit of a metric or an axis (`leakrange.metrics.registry.Unit`) in words."""
        return cls(name, _UNITS.get(unit, unit))

    @property
    def heading(self) -> str:
        """Name and unit: "PSNR (dB)"."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Table:
    """Rows of as many values as there are columns; None where there is none."""

    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Value]] = field(default=())

    def csv(self) -> str:
        """With a heading. Numbers have nine digits, and text that a spreadsheet would take for a formula an
        apostrophe in front; empty where there are no columns."""
        if not self.columns:
            return ""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\r\n")
        writer.writerow([cell(column.heading) for column in self.columns])
        writer.writerows([cell(value) for value in row] for row in self.rows)
        return written.getvalue()


def cell(value: Value) -> str:
    """As it is written into a CSV file."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return f"{value:.9g}" if isinstance(value, float) else str(value)
