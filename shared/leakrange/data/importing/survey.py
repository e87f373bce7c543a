"""What the columns of a table hold: numbers, categories, or what is left out of a sample; and the numbers
that a row becomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.records import MISSING, Cells, as_text

__all__ = ["MOST_CATEGORIES", "ColumnPlan", "ColumnSurvey", "encode", "fits", "number_of"]

MOST_CATEGORIES = 100
"""A column of text with more values is no category but free text or names."""
LONGEST_CATEGORY = 60
"""Characters in the name of a category."""
STRAY = 0.01
"""The share of values of a column of numbers that may be no numbers: they count as missing."""
LARGEST = 1e30
"""Numbers of a larger size count as missing: a net computes in float32."""
DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?|\d{1,2}:\d\d(:\d\d.*)?"
)
IDENTIFIER = re.compile(r"(?i:^id$|^uuid$|^(row)?_?(index|number)$|.*[_ -]id$)|.*[a-z]I[dD]$|Unnamed: 0")
"""Names of columns that number the rows or their people."""

Kind = Literal["number", "category", "left out"]


@dataclass(frozen=True)
class ColumnPlan:
    """What becomes of a column. values: the categories in order, the empty one first if any value is missing.
    rule: what is done about missing values, or why the column is left out."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    missing: int = 0
    rule: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of a sample that it becomes."""
        if self.kind == "left out":
            return ()
        if self.kind == "category":
            return tuple(f"{self.name}={value or 'missing'}" for value in self.values)
        return (self.name, f"{self.name}=missing") if self.missing else (self.name,)


@dataclass
class ColumnSurvey:
    """Facts about a column that are gathered batch by batch."""

    name: str
    numbers: int = 0
    missing: int = 0
    strays: int = 0
    dates: int = 0
    whole: bool = True
    stray: str = ""
    values: set[str] = field(default_factory=set)
    low: float = np.inf
    high: float = -np.inf

    def add(self, cells: Cells) -> None:
        """Take some more cells into account."""
        if isinstance(cells, np.ndarray):
            self._add_numbers(cells[fits(cells)])
            self.missing += int((~fits(cells)).sum())
            if len(self.values) <= MOST_CATEGORIES:
                self.values.update(as_text(each) for each in np.unique(cells[fits(cells)])[:MOST_CATEGORIES])
            return
        counts = Counter(cells)
        try:
            read = np.fromiter(map(float, counts), np.float64, len(counts))
            times = np.fromiter(counts.values(), np.int64, len(counts))
        except ValueError:
            self._add_text(counts)
        else:
            usable = fits(read)
            self._add_numbers(read[usable], times[usable])
            self.missing += int(times[~usable].sum())
            whole = bool(usable.all())
            self._note(
                counts if whole else [cell for cell, there in zip(counts, usable, strict=True) if there]
            )

    def _add_text(self, counts: Mapping[str, int]) -> None:
        for cell, times in counts.items():
            number = number_of(cell)
            if number is None:
                text = cell.strip()
                self.strays += times
                self.dates += times if DATE.fullmatch(text) else 0
                self.stray = self.stray or text
                self._note((text,))
            elif np.isnan(number):
                self.missing += times
            else:
                self._add_numbers(np.array([number]), np.array([times]))
                self._note((cell.strip(),))

    def _note(self, values: Iterable[str]) -> None:
        if len(self.values) <= MOST_CATEGORIES:
            self.values.update(islice(values, MOST_CATEGORIES + 1))

    def _add_numbers(self, read: NDArray[np.float64], times: NDArray[np.int64] | None = None) -> None:
        if len(read):
            self.numbers += int(len(read) if times is None else times.sum())
            self.whole = self.whole and bool((read == np.rint(read)).all())
            self.low, self.high = min(self.low, float(read.min())), max(self.high, float(read.max()))

    def plan(self) -> ColumnPlan:
        """What becomes of the column."""
        known = self.numbers + self.strays
        if not known:
            return self._left_out("empty")
        if self.dates > 0.9 * known:
            return self._left_out("dates or times")
        if IDENTIFIER.fullmatch(self.name) and (self.whole or self.strays) and len(self.values) > 2:
            return self._left_out("identifiers, by its name")
        if self.strays <= STRAY * known:
            return self._numbers()
        if len(self.values) > MOST_CATEGORIES:
            return self._left_out(f"more than {MOST_CATEGORIES} different texts, such as {self.stray[:40]!r}")
        values = sorted({value.strip() for value in self.values} - {""})
        if len(values) == 1 and not self.missing:
            return self._left_out("the same in every row")
        if any(len(value) > LONGEST_CATEGORY or not value.isprintable() for value in values):
            return self._left_out("texts that are long, or cannot be printed")
        blank = ("",) if self.missing else ()
        rule = "missing: a category of its own" if self.missing else ""
        return ColumnPlan(self.name, "category", (*blank, *values), self.missing, rule)

    def _numbers(self) -> ColumnPlan:
        missing = self.missing + self.strays
        if self.low == self.high and not missing:
            return self._left_out("the same in every row")
        rule = "missing: the training rows' mean, and marked" if missing else ""
        if self.strays:
            rule += f"; {self.strays} that are no numbers count as missing, such as {self.stray[:40]!r}"
        return ColumnPlan(self.name, "number", missing=missing, rule=rule)

    def _left_out(self, why: str) -> ColumnPlan:
        return ColumnPlan(self.name, "left out", missing=self.missing, rule=why)


def number_of(cell: str) -> float | None:
    """The number in a cell: NaN for a missing one, None for other text."""
    try:
        number = float(cell)
    except ValueError:
        return float("nan") if cell.strip().lower() in MISSING else None
    return number if abs(number) < LARGEST else float("nan")


def fits(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers (N,) are there, and not too large for a net."""
    return np.abs(numbers) < LARGEST


def encode(plans: Sequence[ColumnPlan], batch: Mapping[str, Cells], rows: int) -> NDArray[np.float32]:
    """The rows of a batch, float32 (rows, columns of all plans); NaN where a number is missing."""
    width = sum(len(plan.names) for plan in plans)
    encoded = np.zeros((rows, width), dtype=np.float32)
    place = 0
    for plan in plans:
        cells = batch[plan.name]
        if plan.kind == "number":
            numbers = _numbers(cells)
            encoded[:, place] = numbers
            if plan.missing:
                encoded[:, place + 1] = np.isnan(numbers)
        elif plan.kind == "category":
            encoded[np.arange(rows), place + _places(plan.values, cells)] = 1.0
        place += len(plan.names)
    return encoded


def _numbers(cells: Cells) -> NDArray[np.float64]:
    if not isinstance(cells, np.ndarray):
        try:
            cells = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            read = (number_of(cell) for cell in cells)
            cells = np.array([np.nan if number is None else number for number in read], dtype=np.float64)
    # Adding zero removes the sign that a zero may have, since it would change the fingerprint.
    return np.where(fits(cells), cells, np.nan) + 0.0


def _places(values: Sequence[str], cells: Cells) -> NDArray[np.int64]:
    text = [as_text(each) for each in cells] if isinstance(cells, np.ndarray) else cells
    place = {value: i for i, value in enumerate(values)}
    places: dict[str, int] = {}
    for cell in set(text):
        value = cell.strip()
        # What is not among the values is missing: words such as "null", and numbers too large for a net.
        places[cell] = place[value] if value in place else place[""]
    return np.fromiter((places[cell] for cell in text), np.int64, len(text))
