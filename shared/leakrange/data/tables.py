"""Rows of tables: reading CSV files, and turning named columns into the numbers of a sample."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, PlacedSet
from leakrange.data.columns import PUBLISHED, ColumnAttribute, Columns, classes_of, numbers
from leakrange.data.samples import train_or_test
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = ["Category", "Column", "Quantity", "TableSet", "encode", "read_csv", "table"]


@dataclass(frozen=True)
class Quantity:
    """A column of numbers, given to the net less its ``mean`` and divided by its ``deviation``.

    Both are constants of the data set, not computed when it is loaded: so a sample means the same to every
    model, whatever the split.
    """

    name: str
    mean: float
    deviation: float


@dataclass(frozen=True)
class Category:
    """A column of names. A sample has a column ``name=value`` for each of its values, 1 or 0."""

    name: str
    values: tuple[str, ...]


Column = Quantity | Category


def table(columns: Sequence[Column]) -> SampleSpec:
    """The form of a row of these columns: quantities in their own units, and ones and zeros."""
    names: list[str] = []
    scale: list[float] = []
    offset: list[float] = []
    for column in columns:
        if isinstance(column, Quantity):
            names.append(column.name)
            scale.append(column.deviation)
            offset.append(-column.mean / column.deviation)
        else:
            names += [f"{column.name}={value}" for value in column.values]
            scale += [1.0] * len(column.values)
            offset += [0.0] * len(column.values)
    return SampleSpec(
        encoding="table",
        shape=(len(names),),
        dtype="float32",
        columns=tuple(names),
        scale=tuple(scale),
        offset=tuple(offset),
    )


def encode(columns: Sequence[Column], values: Columns) -> NDArray[np.float32]:
    """The rows, float32 (N, number of columns of `table`). Raises `DataUnavailable` for a value that is no
    number, or none of its column's."""
    parts: list[NDArray[np.float32]] = []
    for column in columns:
        if isinstance(column, Quantity):
            parts.append(numbers(column.name, values[column.name]).astype(np.float32)[:, None])
        else:
            place = classes_of(column.name, values[column.name], column.values)
            parts.append(np.eye(len(column.values), dtype=np.float32)[place])
    return np.concatenate(parts, axis=1)


class TableSet(PlacedSet):
    """A set of rows in a CSV file with a heading, whose columns are those of its inputs and attributes."""

    inputs: ClassVar[Sequence[Column]]
    """The columns that a sample holds."""

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The rows in the file's order. A set whose files have another form overrides this."""
        return cls.rows(read_csv(paths[0], cls.names()))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The columns of the inputs and the attributes."""
        attributes = [each for each in cls.attributes.values() if isinstance(each, ColumnAttribute)]
        sources = [name for each in attributes for name in each.sources]
        return tuple(dict.fromkeys([*(each.name for each in cls.inputs), *sources]))

    @classmethod
    def rows(cls, columns: Columns, tested: NDArray[np.bool_] | None = None) -> Content:
        """The rows as samples; those that are equal in all ``columns`` are one group. tested: (N,), which
        rows are official test rows. Raises `DataUnavailable` for values that a column cannot have."""
        first: dict[tuple[str, ...], int] = {}
        rows = zip(*columns.values(), strict=True)
        return Content(
            values=encode(cls.inputs, columns),
            labels=cls.labels(columns),
            group=np.array([first.setdefault(row, i) for i, row in enumerate(rows)], dtype=np.int64),
            official=None if tested is None else train_or_test(tested),
        )


def read_csv(
    path: Path, names: Sequence[str], *, header: bool = True, comment: str = "|"
) -> dict[str, list[str]]:
    """The columns ``names`` of a CSV file, plain or gzipped, without the spaces around values.

    Without a ``header`` the file has just these columns, in this order. Empty lines, and lines that begin
    with ``comment``, are ignored. Raises `DataUnavailable` with the file's name and its mistake.
    """
    with _text(path) as file:
        lines = csv.reader(line for line in file if line.strip() and not line.startswith(comment))
        first = [name.strip() for name in next(lines, [])] if header else list(names)
        missing = [name for name in names if name not in first]
        if missing:
            raise DataUnavailable(f"{path} lacks the columns: {', '.join(missing)}", hint=PUBLISHED)
        rows: list[list[str]] = []
        for row in lines:
            if len(row) != len(first):
                raise DataUnavailable(
                    f"{path}: row {len(rows) + 1} has {len(row)} values, not {len(first)}", hint=PUBLISHED
                )
            rows.append(row)
    if not rows:
        raise DataUnavailable(f"{path} holds no rows", hint=PUBLISHED)
    return {name: [row[first.index(name)].strip() for row in rows] for name in names}


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
                yield file
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield file
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=PUBLISHED) from broken
