"""The rows of one file beside those of another: answers, and what is known of whom they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from leakrange.data.importing.records import Batch, Cells, Records, as_text
from leakrange.wire.errors import InvalidInput

__all__ = ["JoinedRecords"]

Key = tuple[str, ...]


class JoinedRecords(Records):
    """The rows of ``first`` that have a row of ``second`` with the same values in the columns ``by``, with
    its further columns; the others are left out. ``second`` is held in memory. ``unmatched``: how many rows
    of ``first`` the last reading of all batches left out.

    Raises `InvalidInput` for columns that are not there, or in both, for a ``second`` without further
    columns, and where two of its rows are for the same key.
    """

    kind = "joined"

    def __init__(self, first: Records, second: Records, by: Sequence[str]) -> None:
        for records in (first, second):
            if missing := [name for name in by if name not in records.columns]:
                raise InvalidInput(
                    f"{records.path} has no column {', '.join(map(repr, missing))} to join by",
                    hint=f"there are: {', '.join(records.columns[:40])}",
                )
        self._first, self._by, self.unmatched = first, tuple(by), 0
        self._further = [name for name in second.columns if name not in by]
        if not self._further:
            raise InvalidInput(
                f"{second.path} has no columns but those to join by", hint="name fewer by --by"
            )
        if twice := [name for name in self._further if name in first.columns]:
            raise InvalidInput(
                f"{first.path} and {second.path} both have a column {twice[0]!r}", hint="rename or delete one"
            )
        self._rows: dict[Key, tuple[str, ...]] = {}
        for batch in second.batches():
            cells = zip(*(_texts(batch[name]) for name in self._further), strict=True)
            for key, row in zip(self._keys(batch), cells, strict=True):
                if self._rows.setdefault(key, row) != row:
                    raise InvalidInput(
                        f"{second.path} has two rows for {', '.join(key)[:80]!r}, which say different things",
                        hint="join by columns that tell its rows apart (--by)",
                    )
        super().__init__(first.path, [*first.columns, *self._further], first.left_out)

    def batches(self) -> Iterator[Batch]:
        """See `Records.batches`."""
        self.unmatched = 0
        for batch in self._first.batches():
            keys = self._keys(batch)
            places = [place for place, key in enumerate(keys) if key in self._rows]
            self.unmatched += len(keys) - len(places)
            if places:
                rows = [self._rows[keys[place]] for place in places]
                further = zip(self._further, zip(*rows, strict=True), strict=True)
                yield {**{name: _chosen(cells, places) for name, cells in batch.items()}, **dict(further)}

    def _keys(self, batch: Batch) -> list[Key]:
        return list(zip(*(_texts(batch[name]) for name in self._by), strict=True))


def _texts(cells: Cells) -> list[str]:
    if isinstance(cells, np.ndarray):
        return [as_text(each) for each in cells]
    return [cell.strip() for cell in cells]


def _chosen(cells: Cells, places: Sequence[int]) -> Cells:
    return cells[list(places)] if isinstance(cells, np.ndarray) else [cells[place] for place in places]
