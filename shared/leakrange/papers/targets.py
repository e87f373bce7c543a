"""The printed rows of a paper, read from one CSV file, and their selection by a filter."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from leakrange.report.document import PrintedFigure
from leakrange.wire.errors import InvalidInput

__all__ = ["PaperRow", "read_rows", "select"]

DEVIATION = "_std"
"""Suffix of a figure's name in the heading of its deviation."""


@dataclass(frozen=True, eq=False)
class PaperRow:
    """One row of a table: its fields as text (empty where the table does not say), and the printed figures by
    metric, in the paper's units."""

    table: str
    fields: Mapping[str, str]
    figures: Mapping[str, PrintedFigure] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.fields[name]

    def number(self, name: str) -> float:
        """A field as a number, 0 where it is empty."""
        return float(self.fields[name] or 0.0)

    def has(self, name: str, value: str) -> bool:
        """Whether a field is ``value``; numbers may be written in any way."""
        if self.fields[name] == value:
            return True
        try:
            return self.number(name) == float(value)
        except ValueError:
            return False


def read_rows(text: str, figures: Iterable[str]) -> tuple[PaperRow, ...]:
    """The rows of a CSV file: ``table``, the ``figures`` and their deviations, and fields."""
    names = tuple(figures)
    known = {"table", *names, *(f"{name}{DEVIATION}" for name in names)}
    return tuple(
        PaperRow(
            table=line["table"],
            fields={name: value for name, value in line.items() if name not in known},
            figures={name: _figure(line, name) for name in names if line[name]},
        )
        for line in csv.DictReader(text.splitlines())
    )


def _figure(line: Mapping[str, str], name: str) -> PrintedFigure:
    deviation = line.get(f"{name}{DEVIATION}")
    return PrintedFigure(float(line[name]), float(deviation) if deviation else None)


def select(rows: Sequence[PaperRow], table: str, filters: str = "") -> tuple[PaperRow, ...]:
    """The rows of one table that a filter keeps: ``Y=3,S=2|5,classifier=raw|soft`` keeps those with every
    field among its values. Raises `InvalidInput` for an unknown table or field, and where nothing is left."""
    kept = tuple(row for row in rows if row.table == table)
    if not kept:
        raise InvalidInput(
            f"no table {table!r}; there are: {', '.join(dict.fromkeys(row.table for row in rows))}"
        )
    for part in filter(None, filters.split(",")):
        name, equals, values = part.strip().partition("=")
        if not equals or name not in rows[0].fields:
            raise InvalidInput(
                f"{part!r} selects no rows; write field=value|value with: {', '.join(rows[0].fields)}"
            )
        kept = tuple(row for row in kept if any(row.has(name, value.strip()) for value in values.split("|")))
    if not kept:
        raise InvalidInput(f"no row of table {table} has {filters}")
    return kept
