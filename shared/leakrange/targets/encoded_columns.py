"""Columns of an imported table as its file had them: the model of somebody else knows these alone.

A sample of `leakrange.data.importing` holds a 1 or 0 for each value of a category (``country=France``), and a
mark beside a number that is missing (``balance=missing``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

__all__ = ["encoded_row", "stem_of", "stems", "written_columns"]

MISSING = "missing"


def stem_of(column: str, names: Sequence[str]) -> tuple[str, str | None]:
    """The one of ``names`` that a sample's column came from, with the value that it stands for; the column
    itself, without a value, where it is one of them or came from none."""
    if column in names:
        return column, None
    ends = [place for place, letter in enumerate(column) if letter == "="]
    for end in reversed(ends):
        if column[:end] in names:
            return column[:end], column[end + 1 :]
    return column, None


def stems(columns: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a sample's ``columns`` came from all of these ``names``, and from no others."""
    return {stem_of(column, names)[0] for column in columns} == set(names)


def written_columns(
    columns: Sequence[str], names: Sequence[str], samples: NDArray[Any]
) -> dict[str, list[Any]]:
    """The values of samples (B, columns) under each of ``names``: numbers, texts of categories, and None for
    what is missing. A category is the one whose column is greatest, since a device may have changed them."""
    places: dict[str, dict[str | None, int]] = {name: {} for name in names}
    for place, column in enumerate(columns):
        name, value = stem_of(column, names)
        places[name][value] = place
    return {name: _written(those, samples) for name, those in places.items()}


def _written(places: Mapping[str | None, int], samples: NDArray[Any]) -> list[Any]:
    if None not in places:
        values = [None if value == MISSING else value for value in places]
        return [values[each] for each in samples[:, list(places.values())].argmax(axis=1)]
    numbers = [int(each) if float(each).is_integer() else float(each) for each in samples[:, places[None]]]
    if MISSING not in places:
        return numbers
    marks = samples[:, places[MISSING]] > 0.5
    return [None if mark else number for mark, number in zip(marks, numbers, strict=True)]


def encoded_row(
    row: Sequence[float],
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    columns: Sequence[str],
) -> tuple[float, ...]:
    """A row under ``names``, of numbers and of codes of ``categories``, as the sample with these ``columns``;
    no column of a category is 1 where the code's text is none of its values."""
    given = dict(zip(names, row, strict=True))
    encoded = []
    for column in columns:
        name, value = stem_of(column, names)
        if value is None:
            encoded.append(given[name])
            continue
        texts, code = categories.get(name, ()), int(given[name])
        encoded.append(float(code < len(texts) and texts[code] == value))
    return tuple(encoded)
