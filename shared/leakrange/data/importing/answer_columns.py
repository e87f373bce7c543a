"""The columns of a file of answers: the model's scores, and what is known of each record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from leakrange.data.importing.records import as_text
from leakrange.data.importing.roles import RoleColumn
from leakrange.data.importing.survey import number_of
from leakrange.wire.errors import InvalidInput

__all__ = ["AnswerColumns", "class_labels"]

YES, NO = frozenset({"1", "yes", "true"}), frozenset({"0", "no", "false"})


@dataclass(frozen=True)
class AnswerColumns:
    """Which columns serve as what.

    values: patterns such as ``p_*``, whose columns hold the scores, in the file's order. member: who was
    trained on. hidden: what attacks infer. target: the true class of a record. person: whose record it is.
    known: what is known of a record without the model, by which its controls guess.
    """

    values: tuple[str, ...]
    member: str | None = None
    hidden: str | None = None
    target: str | None = None
    person: str | None = None
    known: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """The columns that have a part of their own, but for scores and what is known."""
        named = (self.member, self.hidden, self.target, self.person)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def check(self, columns: Sequence[str]) -> list[str]:
        """The columns of scores among those of a file. Raises `InvalidInput` unless all are there, and have
        one part each."""
        if self.member is None and self.hidden is None:
            raise InvalidInput(
                "nothing is asked for that an attack could infer",
                hint="name the column that says who was trained on (--member), or what is hidden (--hidden)",
            )
        unknown = [name for name in (*self.roles, *self.known) if name not in columns]
        unknown += [each for each in self.values if not any(fnmatchcase(name, each) for name in columns)]
        if unknown:
            raise InvalidInput(
                f"there is no column {', '.join(map(repr, unknown))}",
                hint=f"there are: {', '.join(columns[:40])}",
            )
        parts = [*self.roles, *self.known]
        scores = [
            name
            for name in columns
            if name not in parts and any(fnmatchcase(name, each) for each in self.values)
        ]
        named = [name for name in (self.member, self.hidden, self.target, self.person) if name is not None]
        twice = [name for name in (*named, *self.known) if (*named, *self.known).count(name) > 1]
        twice += [name for name in self.values if name in parts]
        if twice:
            raise InvalidInput(f"column {twice[0]!r} has two parts", hint="give each column one part")
        if not scores:
            raise InvalidInput(
                "no column is left for the model's scores", hint="name them by --values, such as 'p_*'"
            )
        return scores


def class_labels(column: RoleColumn, classes: Sequence[str]) -> NDArray[np.int64]:
    """The number of each record's true class (N,), -1 where it is missing. ``classes`` are named as the
    scores are, or by their numbers from 0; of the two classes 0 and 1 also by yes and no.

    Raises `InvalidInput` for a value that is no class.
    """
    written = {value: _as_class(value, classes) for value in column.place}
    places = {name: place for place, name in enumerate(classes)}
    if not any(name in places for name in written.values()):
        places = {str(place): place for place in range(len(classes))}
    if len(classes) == 2 and set(places) == {"0", "1"}:
        places |= dict.fromkeys(NO, 0) | dict.fromkeys(YES, 1)
    numbers = np.full(len(column.place) + 1, -1, dtype=np.int64)
    for value, code in column.place.items():
        if written[value] not in places:
            shown = ", ".join(classes[:12]) + (", …" if len(classes) > 12 else "")
            raise InvalidInput(
                f"column {column.name!r} holds {value[:40]!r}, which is no class of the scores: {shown}",
                hint="write classes as the columns of scores are named, or number them from 0 in that order",
            )
        numbers[code] = places[written[value]]
    return numbers[column.labels]


def _as_class(value: str, classes: Sequence[str]) -> str:
    """A value as a class may be named: numbers as whole ones are written, words in lower case."""
    if value in classes:
        return value
    number = number_of(value)
    return value.lower() if number is None else as_text(number)
