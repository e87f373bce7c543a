"""The scores of recorded answers: read, checked, and given a column for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.records import MOST_ROWS, Batch, Cells
from leakrange.data.importing.roles import RoleColumn
from leakrange.wire.errors import InvalidInput

__all__ = ["MOST_NUMBERS", "RecordedRelease", "Released", "ReleasedScores"]

Released = Literal["softmax", "logits", "features", "decision"]
"""What a file may hold; of decisions, the name of a class in each row."""
RecordedRelease = Literal["softmax", "logits", "features"]
"""What attacks read; a decision is a softmax that is 1 at its class, as the defence `argmax` leaves it."""
MOST_NUMBERS = 2**28
"""Numbers in all answers: a gibibyte of float32."""
WHOLE = 0.05
"""How far the probabilities of an answer may be from 1 in sum: they may have been rounded."""


class ReleasedScores:
    """The columns of ``scores``, batch by batch; ``rows`` were added. Raises `InvalidInput` for decisions in
    several columns."""

    def __init__(self, scores: Sequence[str], release: Released) -> None:
        if release == "decision" and len(scores) > 1:
            raise InvalidInput(
                f"a decision lies in one column, and --values name {len(scores)}",
                hint="name that of the decision",
            )
        self.rows = 0
        self._scores, self._release = scores, release
        self._parts: list[NDArray[np.float32]] = []
        self._decisions = RoleColumn(scores[0])

    def add(self, batch: Batch) -> None:
        """Take some more rows. Raises `InvalidInput` for what is no number, or no probability, with its row,
        and for more than fit into memory."""
        if self._release == "decision":
            self._decisions.add(batch[self._scores[0]])
        else:
            self._parts.append(self._numbers(batch))
        self.rows += len(batch[self._scores[0]])
        self._check_size(len(self._scores))

    def answers(self, target: RoleColumn | None) -> tuple[NDArray[np.float32], tuple[str, ...]]:
        """The answers (N, Y), and the names of the classes; of decisions these are all that were decided, or
        are true by the column ``target``."""
        if self._release == "decision":
            return self._one_hot(target)
        values = np.concatenate(self._parts)
        if self._release == "features":
            return values, tuple(self._scores)
        if len(self._scores) == 1:
            other = 1.0 - values if self._release == "softmax" else np.zeros_like(values)
            return np.concatenate([other, values], axis=1), ("0", "1")
        return values, _classes(self._scores)

    def _one_hot(self, target: RoleColumn | None) -> tuple[NDArray[np.float32], tuple[str, ...]]:
        decided = self._decisions.labels
        if (decided < 0).any():
            row = int(np.flatnonzero(decided < 0)[0])
            raise InvalidInput(
                f"row {row + 1} has no decision in column {self._decisions.name!r}",
                hint="leave out the rows that the model did not answer",
            )
        classes = sorted({*self._decisions.place, *(target.place if target is not None else ())})
        if len(classes) < 2:
            raise InvalidInput(
                f"column {self._decisions.name!r} has one decision alone: it tells nobody apart"
            )
        if (unnamed := next((name for name in classes if not _is_class(name)), None)) is not None:
            raise InvalidInput(
                f"{unnamed[:40]!r} is no name for a class", hint="names have at most 64 printable characters"
            )
        self._check_size(len(classes))
        places = {name: place for place, name in enumerate(classes)}
        place = np.array([places[value] for value in self._decisions.place])
        values = np.zeros((len(decided), len(classes)), dtype=np.float32)
        values[np.arange(len(decided)), place[decided]] = 1.0
        return values, tuple(classes)

    def _check_size(self, width: int) -> None:
        if self.rows > MOST_ROWS or self.rows * width > MOST_NUMBERS:
            raise InvalidInput(
                f"there are more than {min(MOST_ROWS, MOST_NUMBERS // width):,} answers of {width} values",
                hint="give a part of them: so many records make no interval narrower",
            )

    def _numbers(self, batch: Batch) -> NDArray[np.float32]:
        """The answers of a batch (B, Y)."""
        first = self.rows + 1
        values = np.stack([_numbers(batch[name], name, first) for name in self._scores], axis=1)
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise InvalidInput(
                f"row {first + row} has no finite number in column {self._scores[column]!r}",
                hint="leave out the rows that the model did not answer",
            )
        if self._release == "softmax":
            _check_probabilities(values, first)
        return values.astype(np.float32)


def _numbers(cells: Cells, name: str, first: int) -> NDArray[np.float64]:
    """The numbers of a column, infinite where float32 cannot hold them."""
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError as error:
        place = next(place for place, cell in enumerate(cells) if not _is_number(str(cell)))
        raise InvalidInput(
            f"row {first + place} has {str(cells[place])[:40]!r} in column {name!r}, which is no number",
            hint="--values name the model's scores; of classes alone, say --release decision",
        ) from error
    return np.where(np.abs(numbers) <= np.finfo(np.float32).max, numbers, np.inf)


def _is_class(name: str) -> bool:
    return len(name) <= 64 and name.isprintable()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_probabilities(values: NDArray[np.float64], first: int) -> None:
    outside = (values < -1e-6) | (values > 1 + 1e-6)
    sums = values.sum(axis=1)
    # A single column is the probability of one of two classes.
    wrong = outside.any(axis=1) | ((np.abs(sums - 1.0) > WHOLE) & (values.shape[1] > 1))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        what = (
            "holds a number outside of 0 to 1" if outside[row].any() else f"sums to {sums[row]:.4g}, not to 1"
        )
        raise InvalidInput(
            f"row {first + row} {what}: these are no probabilities",
            hint="name the columns of all classes by --values, or say what they are by --release",
        )


def _classes(scores: Sequence[str]) -> tuple[str, ...]:
    """The names of columns without what all begin with, up to a separator: ``p_low`` and ``p_long`` are low
    and long."""
    cut = 0
    for place, character in enumerate(scores[0][:-1], 1):
        if not all(name[:place] == scores[0][:place] and len(name) > place for name in scores):
            break
        if not character.isalnum():
            cut = place
    return tuple(name[cut:] for name in scores)
