"""Rows of tables: reading CSV files, and turning named columns into the numbers of a sample."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = [
    "Category",
    "Column",
    "Columns",
    "Quantity",
    "classes_of",
    "encode",
    "numbers",
    "read_csv",
    "same_rows",
    "table",
]

Columns = Mapping[str, Sequence[str]]
"""The values of a table by column, as text."""

AGAIN = "put the file there as it is published, or pack it again"


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


def numbers(name: str, values: Sequence[str]) -> NDArray[np.float64]:
    """The numbers of a column, (N,). Raises `DataUnavailable` where a value is none, or not finite."""
    try:
        parsed = np.array(values, dtype=np.float64)
    except ValueError as error:
        raise DataUnavailable(f"column {name!r} holds what is no number: {error}", hint=AGAIN) from error
    if not np.isfinite(parsed).all():
        raise DataUnavailable(f"column {name!r} holds numbers that are not finite", hint=AGAIN)
    return (
        parsed + 0.0
    )  # removes the sign that rounding may leave on a zero, since it would change the fingerprint


def classes_of(
    name: str, values: Sequence[str], classes: Mapping[str, int] | Sequence[str]
) -> NDArray[np.int64]:
    """The class of each of a column's values, int64 (N,): the number that ``classes`` maps it to, or its
    place among them. Raises `DataUnavailable` for a value that is not among them."""
    place = classes if isinstance(classes, Mapping) else {value: i for i, value in enumerate(classes)}
    try:
        return np.array([place[value] for value in values], dtype=np.int64)
    except KeyError as unknown:
        raise DataUnavailable(
            f"column {name!r} holds {unknown}, which is none of {', '.join(map(repr, place))}", hint=AGAIN
        ) from unknown


def same_rows(columns: Columns, names: Sequence[str]) -> NDArray[np.int64]:
    """A number for each row, int64 (N,), equal for rows that are equal in all of these columns."""
    first: dict[tuple[str, ...], int] = {}
    rows = zip(*(columns[name] for name in names), strict=True)
    return np.array([first.setdefault(row, i) for i, row in enumerate(rows)], dtype=np.int64)


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
            raise DataUnavailable(f"{path} lacks the columns: {', '.join(missing)}", hint=AGAIN)
        rows: list[list[str]] = []
        for row in lines:
            if len(row) != len(first):
                raise DataUnavailable(
                    f"{path}: row {len(rows) + 1} has {len(row)} values, not {len(first)}", hint=AGAIN
                )
            rows.append(row)
    if not rows:
        raise DataUnavailable(f"{path} holds no rows", hint=AGAIN)
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
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=AGAIN) from broken
