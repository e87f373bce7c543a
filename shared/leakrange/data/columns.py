"""Columns of a set's files, and attributes that are declared together with the column that holds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Attribute
from leakrange.wire.errors import DataUnavailable

__all__ = [
    "PACK_AGAIN",
    "PUBLISHED",
    "Coded",
    "ColumnAttribute",
    "Columns",
    "GroupedColumn",
    "Marked",
    "classes_of",
    "labels_of",
    "numbers",
    "require_classes",
    "require_range",
]

Columns = Mapping[str, Any]
"""Facts about a set's samples by column, one value a sample: sequences of text, or arrays of numbers."""

PACK_AGAIN = "pack or download it again"
PUBLISHED = "put the file there as it is published, or pack it again"


@dataclass(frozen=True)
class ColumnAttribute(Attribute, ABC):
    """An attribute whose labels follow from a ``column`` of the set's files (empty: of its own name), or from
    several. ``into``: the class of each number that is read, where several numbers are one class."""

    column: str = ""
    into: Sequence[int] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.column or self.name,)

    @abstractmethod
    def labels(self, columns: Columns) -> NDArray[np.int64]:
        """Its labels, int64 (N,), -1 where unknown. Raises `DataUnavailable` for values that its columns
        cannot have."""

    def _merged(self, number: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([*self.into, -1], dtype=np.int64)[number] if self.into else number


@dataclass(frozen=True)
class Coded(ColumnAttribute):
    """An attribute whose column names a class, or holds its number. ``codes``: the column's own spelling, by
    class or with the class of each. ``unknown``: whether the number may be -1."""

    codes: Sequence[str] | Mapping[str, int] = ()
    unknown: bool = False

    def labels(self, columns: Columns) -> NDArray[np.int64]:
        """See `ColumnAttribute.labels`."""
        (column,) = self.sources
        values = columns[column]
        if not isinstance(values, np.ndarray):
            return classes_of(column, values, self.codes or self.classes)
        top = len(self.into or self.classes) - 1
        return self._merged(require_range(column, values, -int(self.unknown), top))


@dataclass(frozen=True)
class GroupedColumn(ColumnAttribute):
    """An attribute whose classes are ranges of a column of numbers. ``begins``: where each range but the
    first begins."""

    begins: Sequence[float] = ()

    def labels(self, columns: Columns) -> NDArray[np.int64]:
        """See `ColumnAttribute.labels`."""
        (column,) = self.sources
        value = numbers(column, columns[column])
        return np.searchsorted(self.begins, value, side="right").astype(np.int64)


@dataclass(frozen=True)
class Marked(ColumnAttribute):
    """An attribute with a column of ``marks`` for each number, 1 where it is the sample's, else 0 or empty.
    Unknown unless exactly one is marked."""

    marks: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of marks."""
        return self.marks

    def labels(self, columns: Columns) -> NDArray[np.int64]:
        """See `ColumnAttribute.labels`."""
        marked = np.stack([self._mark(name, columns[name]) for name in self.marks])
        return self._merged(np.where(marked.sum(axis=0) == 1, marked.argmax(axis=0), -1))

    def _mark(self, name: str, values: Sequence[str] | NDArray[Any]) -> NDArray[np.int64]:
        if isinstance(values, np.ndarray):
            return require_range(name, values, 0, 1)
        return classes_of(name, values, {"": 0, "0": 0, "1": 1})


def labels_of(attributes: Mapping[str, Attribute], columns: Columns) -> dict[str, NDArray[np.int64]]:
    """Labels of all attributes that follow from a column, int64 (N,) each. Raises `DataUnavailable` as
    `ColumnAttribute.labels` does."""
    return {
        name: attribute.labels(columns)
        for name, attribute in attributes.items()
        if isinstance(attribute, ColumnAttribute)
    }


def numbers(name: str, values: Sequence[str] | NDArray[Any]) -> NDArray[np.float64]:
    """The numbers of a column, (N,). Raises `DataUnavailable` where a value is none, or not finite."""
    try:
        parsed = np.array(values, dtype=np.float64)
    except ValueError as error:
        raise DataUnavailable(f"column {name!r} holds what is no number: {error}", hint=PUBLISHED) from error
    if not np.isfinite(parsed).all():
        raise DataUnavailable(f"column {name!r} holds numbers that are not finite", hint=PUBLISHED)
    # Adding zero removes the sign that rounding may leave on one, since it would change the fingerprint.
    return parsed + 0.0


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
            f"column {name!r} holds {unknown}, which is none of {', '.join(map(repr, place))}", hint=PUBLISHED
        ) from unknown


def require_range(name: str, values: NDArray[Any], low: int, high: int) -> NDArray[np.int64]:
    """``values`` as int64. Raises `DataUnavailable` if one lies outside ``low``..``high``."""
    whole = values.astype(np.int64)
    if len(whole) and (whole.min() < low or whole.max() > high):
        raise DataUnavailable(f"array {name!r} holds values outside {low}..{high}", hint=PACK_AGAIN)
    return whole


def require_classes(name: str, classes: NDArray[Any], expected: Sequence[str]) -> None:
    """Raise `DataUnavailable` unless the names in the file are the expected ones in the expected order."""
    if classes.tolist() != list(expected):
        raise DataUnavailable(
            f"array {name!r} should name {list(expected)}, not {classes.tolist()}", hint=PACK_AGAIN
        )
