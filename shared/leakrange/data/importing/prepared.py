"""A set that is ready to be written: its samples piece by piece, and all facts about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.roles import ColumnUse, ImportedLabels, RoleColumn, attribute_labels, members
from leakrange.data.importing.survey import ColumnPlan
from leakrange.data.samples import SPLITS, Attribute, train_or_test
from leakrange.data.splits import connected, partition
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["LEAST_ROWS", "TEST", "Division", "Prepared", "divide", "labelled"]

LEAST_ROWS = 20
TRAIN, TEST = SPLITS.index("train"), SPLITS.index("test")


@dataclass(frozen=True)
class Division:
    """Which rows of a file are kept, and how they are split.

    kept: mask (N,) of the file's rows. group: int64 (K,) of the kept ones, equal for near-copies and for rows
    of one person. official: uint8 (K,), an index into `SPLITS`. dropped: the other rows, by why they are left
    out. copies: kept rows that equal another one; people: how many there are, 0 where nobody says.
    """

    kept: NDArray[np.bool_]
    group: NDArray[np.int64]
    official: NDArray[np.uint8]
    dropped: Mapping[str, int]
    copies: int
    people: int

    def training(self) -> NDArray[np.bool_]:
        """Mask (N,) of the file's rows that are training rows."""
        mask = self.kept.copy()
        mask[self.kept] = self.official == TRAIN
        return mask


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Samples with their attributes. values: gives them in order, each piece (n, *shape); it can be called
    again. columns: what became of a table's columns."""

    kind: str
    sample: SampleSpec
    values: Callable[[], Iterator[NDArray[Any]]]
    labels: tuple[ImportedLabels, ...]
    division: Division
    use: ColumnUse
    columns: tuple[ColumnPlan, ...] = ()
    notes: tuple[str, ...] = field(default=())


def divide(roles: Mapping[str, RoleColumn], use: ColumnUse, content: NDArray[Any]) -> Division:
    """Choose the rows that can be used, group and split them.

    content: (N,), equal for near-copies. Left out are rows without a target, rows of which nobody says
    whether they were trained on, and those that were not but are grouped with one that was. Without a member
    column a fifth of the groups, drawn once, are test rows. Raises `InvalidInput` where too few rows or
    groups are left.
    """
    target = roles[use.target].labels >= 0
    dropped = {f"{use.target} is missing": int((~target).sum())}
    trained = None
    kept = target
    if use.member is not None:
        known = roles[use.member].labels >= 0
        dropped[f"{use.member} is missing"] = int((target & ~known).sum())
        kept = target & known
        trained = members(roles[use.member])
    group = _grouped(roles, use, content)
    if trained is not None:
        mixed = kept & ~trained & np.isin(group, group[kept & trained])
        dropped["not trained on, but grouped with rows that were"] = int(mixed.sum())
        kept = kept & ~mixed
    _require_rows(int(kept.sum()), len(kept))
    _, size = np.unique(content[kept], return_counts=True)
    official = _official(group[kept], None if trained is None else trained[kept])
    people = 0 if use.person is None else len(np.setdiff1d(roles[use.person].labels[kept], [-1]))
    return Division(
        kept=kept,
        group=np.unique(group[kept], return_inverse=True)[1].astype(np.int64),
        official=official,
        dropped={why: rows for why, rows in dropped.items() if rows},
        copies=int(size[size > 1].sum()),
        people=people,
    )


def labelled(
    roles: Mapping[str, RoleColumn], use: ColumnUse, division: Division
) -> tuple[ImportedLabels, ...]:
    """The attributes of the rows that are kept, the target first. Raises `InvalidInput` as `attribute_labels`
    does, and where the kept rows have but one class."""
    training = division.training()
    every = [
        _of_members(roles[name]) if name == use.member else attribute_labels(roles[name], training)
        for name in use.attributes
    ]
    kept = tuple(ImportedLabels(each.attribute, each.values[division.kept], each.rule) for each in every)
    for each in kept:
        if len(np.unique(each.values[each.values >= 0])) < 2:
            raise InvalidInput(
                f"the rows that can be used have one class of {each.attribute.name!r} alone",
                hint="add rows of the other classes",
            )
    return kept


def _of_members(column: RoleColumn) -> ImportedLabels:
    attribute = Attribute(column.name, ("no", "yes"), "whether a model of the file's owner was trained on it")
    return ImportedLabels(
        attribute, members(column).astype(np.int64), "who was trained on: these are training rows"
    )


def _grouped(roles: Mapping[str, RoleColumn], use: ColumnUse, content: NDArray[Any]) -> NDArray[np.int64]:
    copies = np.unique(content, return_inverse=True)[1].astype(np.int64)
    return copies if use.person is None else connected(copies, roles[use.person].labels)


def _official(group: NDArray[np.int64], trained: NDArray[np.bool_] | None) -> NDArray[np.uint8]:
    official = partition(group, None, 0.0, 0.0, seed=0) if trained is None else train_or_test(~trained)
    count = [int((official == part).sum()) for part in (TRAIN, TEST)]
    if min(count) < LEAST_ROWS // 10:
        largest = int(np.unique(group, return_counts=True)[1].max())
        raise InvalidInput(
            f"{count[0]} training rows and {count[1]} test rows would be left: {largest} of {len(group)} "
            "rows equal each other, or are of one person",
            hint="import rows that differ more, or of more people",
        )
    return official


def _require_rows(rows: int, read: int) -> None:
    if rows < LEAST_ROWS:
        raise InvalidInput(
            f"{rows} of {read} rows can be used; at least {LEAST_ROWS} are needed",
            hint="rows without a target are left out",
        )
