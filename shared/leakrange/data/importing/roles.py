"""Columns with a part of their own: the target, what is hidden, whose row it is, who was trained on."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.records import MISSING, Cells, as_text
from leakrange.data.importing.survey import fits, number_of
from leakrange.data.samples import Attribute
from leakrange.wire.errors import InvalidInput

__all__ = ["ColumnUse", "ImportedLabels", "RoleColumn", "attribute_labels", "members"]

MOST_CLASSES = 256
FEW_NUMBERS = 12
"""A column of at most so many different numbers has a class for each; one of more is cut at its quartiles."""
FEW_ROWS = 40
SHARES = (0.25, 0.5, 0.75)
IN, OUT = (
    frozenset({"1", "yes", "true", "in", "member", "train"}),
    frozenset({"0", "no", "false", "out", "non-member", "nonmember", "test"}),
)


@dataclass(frozen=True)
class ColumnUse:
    """Which columns serve as what. target: what a model says. hidden: what attacks infer. person: whose row
    it is; member: whether a model of the user's own was trained on it; without: left out of samples."""

    target: str
    hidden: tuple[str, ...] = ()
    person: str | None = None
    member: str | None = None
    without: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that become attributes, each once."""
        member = () if self.member is None else (self.member,)
        return tuple(dict.fromkeys((self.target, *self.hidden, *member)))

    @property
    def roles(self) -> tuple[str, ...]:
        """The columns that have a part of their own."""
        person = () if self.person is None else (self.person,)
        return tuple(dict.fromkeys((*self.attributes, *person)))

    def check(self, columns: Sequence[str], left_out: Collection[str] = ()) -> None:
        """Raise `InvalidInput` unless all of them are among a file's columns, each with one part; what
        samples leave out may be among those that are ``left_out`` in any case."""
        unknown = [name for name in self.roles if name not in columns]
        unknown += [name for name in self.without if name not in columns and name not in left_out]
        if unknown:
            raise InvalidInput(
                f"there is no column {', '.join(map(repr, unknown))}",
                hint=f"there are: {', '.join(columns[:40])}",
            )
        for part, names in (("hidden", self.hidden), ("the member column", (self.member,))):
            if self.target in names:
                raise InvalidInput(
                    f"{self.target!r} is the target, and {part} as well", hint="give each column one part"
                )


@dataclass
class RoleColumn:
    """A whole column, by a number for each different value. values: stripped; -1 stands for a missing one."""

    name: str
    place: dict[str, int] = field(default_factory=dict)
    codes: array[int] = field(default_factory=lambda: array("q"))

    def add(self, cells: Cells) -> None:
        """Take some more cells."""
        if isinstance(cells, np.ndarray):
            cells = [as_text(each) for each in cells]
        for cell in cells:
            value = cell.strip()
            missing = value.lower() in MISSING
            self.codes.append(-1 if missing else self.place.setdefault(value, len(self.place)))

    @property
    def labels(self) -> NDArray[np.int64]:
        """The number of each row's value, int64 (N,), -1 where it is missing."""
        return np.array(self.codes, dtype=np.int64)


@dataclass(frozen=True)
class ImportedLabels:
    """An attribute with the label of each row, int64 (N,), and a word on how it came from its column."""

    attribute: Attribute
    values: NDArray[np.int64]
    rule: str


def attribute_labels(column: RoleColumn, training: NDArray[np.bool_]) -> ImportedLabels:
    """The classes of a column. training: (N,), by whose rows numbers are cut. Raises `InvalidInput` for a
    column with one class, or more than `MOST_CLASSES`."""
    codes = column.labels
    numbers = [number_of(value) for value in column.place]
    parsed = np.array([np.nan if each is None else each for each in numbers], dtype=np.float64)
    if column.place and all(each is not None for each in numbers) and fits(parsed).all():
        return _of_numbers(column.name, codes, parsed, training)
    return _of_text(column, codes)


def members(column: RoleColumn) -> NDArray[np.bool_]:
    """Which rows (N,) were trained on. Raises `InvalidInput` where the column says neither yes nor no, or
    says one of them alone."""
    used: dict[int, bool] = {-1: False}
    for value, code in column.place.items():
        word = as_text(number) if (number := number_of(value)) is not None else value.lower()
        if word not in IN | OUT:
            raise InvalidInput(
                f"column {column.name!r} should say who was trained on, and holds {value[:40]!r}",
                hint="write 1 and 0, yes and no, or member and non-member",
            )
        used[code] = word in IN
    trained = np.array([used[code] for code in column.codes], dtype=bool)
    if trained.all() or not trained.any():
        raise InvalidInput(
            f"column {column.name!r} has {'members' if trained.all() else 'non-members'} alone",
            hint="give rows of both kinds, or leave out --member",
        )
    return trained


def _of_text(column: RoleColumn, codes: NDArray[np.int64]) -> ImportedLabels:
    values = sorted(column.place)
    _check_count(column.name, len(values))
    if 2 * len(values) > max(len(codes), FEW_ROWS):
        raise InvalidInput(
            f"column {column.name!r} has {len(values)} different values in {len(codes)} rows",
            hint="a class needs several rows: group the values in the file first",
        )
    for value in values:
        if not value.isprintable() or value[0] in "=+-@" or len(value) > 64:
            raise InvalidInput(
                f"column {column.name!r} holds {value[:40]!r}, which is no name for a class",
                hint="classes have printable names of at most 64 characters that are no formulas",
            )
    place = {value: i for i, value in enumerate(values)}
    renumbered = np.array([*(place[value] for value in column.place), -1], dtype=np.int64)
    return ImportedLabels(Attribute(column.name, tuple(values)), renumbered[codes], "a class for each value")


def _of_numbers(
    name: str, codes: NDArray[np.int64], parsed: NDArray[np.float64], training: NDArray[np.bool_]
) -> ImportedLabels:
    numbers = np.append(parsed, np.nan)[codes]
    known = ~np.isnan(numbers)
    distinct = np.unique(parsed)
    if len(distinct) <= FEW_NUMBERS:
        _check_count(name, len(distinct))
        labels = np.where(known, np.searchsorted(distinct, numbers), -1).astype(np.int64)
        classes = tuple(as_text(each) for each in distinct)
        return ImportedLabels(Attribute(name, classes), labels, "a class for each number")
    chosen = numbers[known & training] if (known & training).any() else numbers[known]
    cuts = np.unique(np.quantile(chosen, SHARES, method="inverted_cdf"))
    below = distinct[distinct < distinct[-1]]
    cuts = cuts[cuts < distinct[-1]] if (cuts < distinct[-1]).any() else below[-1:]
    labels = np.where(known, np.searchsorted(cuts, numbers, side="left"), -1).astype(np.int64)
    ends = [as_text(each) for each in cuts]
    classes = (f"to {ends[0]}", *(f"over {a} to {b}" for a, b in pairwise(ends)))
    classes = (*classes, f"over {ends[-1]}")
    return ImportedLabels(Attribute(name, classes), labels, "cut at the training rows' quartiles")


def _check_count(name: str, count: int) -> None:
    if count < 2:
        only = "one value alone" if count else "no values"
        raise InvalidInput(f"column {name!r} has {only}: there is nothing to tell apart")
    if count > MOST_CLASSES:
        raise InvalidInput(
            f"column {name!r} has {count} different values; at most {MOST_CLASSES} can be classes",
            hint="group them in the file first",
        )
