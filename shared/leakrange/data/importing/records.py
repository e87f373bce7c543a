"""Files of records, read batch by batch as often as needed: nothing here holds a whole file in memory."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["MISSING", "MOST_COLUMNS", "MOST_ROWS", "Batch", "Cells", "CsvRecords", "Records", "as_text"]

Cells = Sequence[str] | NDArray[np.float64]
"""Values of one column: text, where some words of `MISSING` stand for nothing, or numbers, where NaN does."""
Batch = Mapping[str, Cells]
"""Some rows, by column."""

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
"""Words, in lower case, of cells that hold nothing."""
MOST_ROWS = 10_000_000
MOST_COLUMNS = 4096
LONGEST_LINE = 8 * 2**20
"""Characters in a line; one cell has at most `csv.field_size_limit` of them."""
MOST_LINES = 10_000
"""Lines in one row: more are a quotation mark that is never closed."""
BATCH = 500_000
"""Cells in a batch."""
SEPARATORS = ",;\t|"
UNREADABLE = (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error)


class Records(ABC):
    """A file of rows with named columns. ``columns``: their names in the file's order. ``left_out``: the
    columns that hold neither text nor numbers, with what they hold."""

    kind: ClassVar[str]

    def __init__(self, path: Path, columns: Sequence[str], left_out: Mapping[str, str]) -> None:
        self.path, self.left_out = path, left_out
        self.columns = _named(path, columns)

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All rows in the file's order. Raises `InvalidInput` for what is broken, with the row's number."""

    def size(self, columns: int) -> int:
        """The number of rows in a batch of so many columns."""
        return max(64, min(20_000, BATCH // max(1, columns)))


class CsvRecords(Records):
    """A CSV file in UTF-8, plain or gzipped, whose first line names the columns. Columns are separated by
    commas, semicolons, tabs or bars, whichever the first line has most of."""

    kind = "CSV"

    def __init__(self, path: Path) -> None:
        with _readable(path), _opened(path) as file:
            heading = _line(file, path, 1)
            self.separator = max(SEPARATORS, key=heading.count)
            rows = csv.reader([heading], delimiter=self.separator, strict=True)
            names = next(rows, [])
        super().__init__(path, [name.strip() for name in names], {})

    def batches(self) -> Iterator[Batch]:
        """See `Records.batches`."""
        size = self.size(len(self.columns))
        with _readable(self.path), _opened(self.path) as file:
            lines = _CsvLines(file, self.path)
            rows: list[list[str]] = []
            number = 0
            for row in csv.reader(lines, delimiter=self.separator, strict=True):
                lines.in_row = 0
                if not row or number == 0:  # an empty line, or the heading
                    number += bool(row)
                    continue
                if len(row) != len(self.columns):
                    raise InvalidInput(
                        f"{self.path}: row {number} has {len(row)} values, the heading {len(self.columns)}",
                        hint="give every row as many values as there are columns; "
                        "quote values that hold a separator",
                    )
                number += 1
                rows.append(row)
                if len(rows) == size:
                    yield self._columns(rows)
                    rows = []
            if rows:
                yield self._columns(rows)

    def _columns(self, rows: Iterable[Sequence[str]]) -> Batch:
        return dict(zip(self.columns, zip(*rows, strict=True), strict=True))


class _CsvLines:
    """The lines of a text file, none of them longer than `LONGEST_LINE`. ``in_row``: lines that were read
    since it was last set to 0."""

    def __init__(self, file: IO[str], path: Path) -> None:
        self.file, self.path = file, path
        self.in_row = self.number = 0

    def __iter__(self) -> Iterator[str]:
        while True:
            self.number += 1
            self.in_row += 1
            line = _line(self.file, self.path, self.number)
            if not line:
                return
            if self.in_row > MOST_LINES:
                raise InvalidInput(
                    f"{self.path}: the row that ends in line {self.number} goes over {MOST_LINES} lines",
                    hint="close the quotation mark that begins it",
                )
            yield line


def as_text(number: float) -> str:
    """A number as a person writes it: whole ones without a point; nothing for NaN."""
    if math.isnan(number):
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 2**63 else repr(number)


def _line(file: IO[str], path: Path, number: int) -> str:
    line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise InvalidInput(
            f"{path}: line {number} has more than {LONGEST_LINE} characters",
            hint="is it a CSV file? leave out columns that hold documents or pictures",
        )
    return line


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what a broken text file raises into `InvalidInput`."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8: byte {error.object[error.start]:#04x} stands where a character begins",
            hint="save it as UTF-8 (iconv -f latin1 -t utf-8)",
        ) from error
    except UNREADABLE as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise InvalidInput(f"{path} cannot be read: {why}", hint="is it a whole CSV file?") from error


def _named(path: Path, columns: Sequence[str]) -> tuple[str, ...]:
    """The names of a file's columns. Raises `InvalidInput` for names that nobody could ask for."""
    if not columns:
        raise InvalidInput(f"{path} is empty", hint="its first line names the columns")
    if len(columns) > MOST_COLUMNS:
        raise InvalidInput(
            f"{path} has {len(columns)} columns; at most {MOST_COLUMNS} can be imported",
            hint="leave out some",
        )
    for number, name in enumerate(columns, 1):
        if mistake := _mistake(name):
            raise InvalidInput(
                f"{path}: the name of column {number} {mistake}", hint="the first line names each column"
            )
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise InvalidInput(
            f"{path} has several columns named {', '.join(map(repr, twice[:5]))}", hint="rename or delete one"
        )
    return tuple(columns)


def _mistake(name: str) -> str | None:
    if not name:
        return "is empty"
    if len(name) > 64:
        return f"is longer than 64 characters: {name[:20]!r}…"
    if not name.isprintable():
        return f"holds characters that cannot be printed: {name!r}"
    if name[0] in "=+-@":
        return f"begins like a formula: {name!r}"
    return None
