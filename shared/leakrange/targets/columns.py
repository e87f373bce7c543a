"""The columns of a table as a target takes them, where samples have others.

An imported data set has a column of ones and zeros for each value of a text: ``country=France``,
``country=Spain``. A target takes the text: one column ``country``. It may take fewer columns, in another
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNKNOWN", "encoded_row", "lacking", "taken_from", "texts_at", "texts_of"]

UNKNOWN = "missing"
"""In the place of a text: the column that says that a text or a number is missing. None is sent then."""


def texts_of(name: str, columns: Sequence[str]) -> dict[str, int]:
    """The texts of the column ``name`` that samples with these columns have, with the place of each; none
    where it is no such column."""
    head = f"{name}="
    return {each.removeprefix(head): place for place, each in enumerate(columns) if each.startswith(head)}


def taken_from(columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The columns of the file that these columns of samples were made of, in order, with the texts of each;
    none for numbers."""
    taken: dict[str, tuple[str, ...]] = {}
    for column in columns:
        name, mark, _ = column.partition("=")
        if mark and name not in columns:
            taken[name] = tuple(text for text in texts_of(name, columns) if text != UNKNOWN)
        elif not mark:
            taken[name] = ()
    return taken


def lacking(taken: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns of a target that do not follow from those of the samples."""
    return [name for name in taken if name not in columns and not texts_of(name, columns)]


def texts_at(name: str, columns: Sequence[str], samples: NDArray[Any]) -> list[str | None]:
    """The text of the column ``name`` of each of the samples (B, columns): the one whose column is greatest,
    since a device may have changed them; None where it is missing."""
    texts = texts_of(name, columns)
    names = [None if text == UNKNOWN else text for text in texts]
    return [names[place] for place in np.argmax(samples[:, list(texts.values())], axis=1)]


def encoded_row(
    row: Sequence[float],
    taken: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    columns: Sequence[str],
) -> tuple[float, ...]:
    """A row under the columns ``taken``, of numbers and of codes of ``categories``, as a sample with
    ``columns``: 0 where the row says nothing."""
    given, encoded = dict(zip(taken, row, strict=True)), dict.fromkeys(columns, 0.0)
    for name, value in given.items():
        if name in encoded:
            encoded[name] = value
            continue
        texts, code = categories.get(name, ()), int(value)
        text = texts[code] if code < len(texts) else None
        for known, place in texts_of(name, columns).items():
            encoded[columns[place]] = float(known == text)
    return tuple(encoded.values())
