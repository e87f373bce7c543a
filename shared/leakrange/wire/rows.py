"""CSV to numbers: a first row that names the columns, then one row a sample."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody

__all__ = ["CSV", "count_rows", "read_rows"]

CSV = "text/csv"
Take = Callable[[NDArray[Any], NDArray[Any]], None]
PIECE: Final = 32_768
"""Bytes that are read at once: some milliseconds."""
LONGEST_ROW: Final = 1_048_576
LONGEST_NUMBER: Final = 64
MARK: Final = b"\xef\xbb\xbf"
"""With which some programs begin a file of UTF-8."""


def count_rows(body: bytes) -> Generator[None, None, int]:
    """How many samples a body holds: its rows but the first. A step at a time."""
    end = len(body.rstrip(b"\r\n"))
    breaks = 0
    for begin in range(0, end, LONGEST_ROW):
        breaks += body.count(b"\n", begin, min(end, begin + LONGEST_ROW))
        yield
    return breaks


def read_rows(
    body: bytes,
    columns: tuple[str, ...],
    take: Callable[[NDArray[Any], NDArray[Any]], None],
    made: NDArray[Any],
) -> Generator[None, None, None]:
    """Fill ``made`` (rows, columns) by ``take(numbers, into)``, some rows at a time, with the columns in the
    order of ``columns``, whichever order the first row names them in.

    Where all are written without a fraction, whole numbers are taken. Raises `MalformedBody` for a first row
    that is no text, `BodyTooLarge` for an overlong row, `InvalidInput` for
    other columns, for rows of another length and for anything but numbers.
    """
    end = len(body.rstrip(b"\r\n"))
    begin = _row_end(body, 0, end)
    order = _order(body[:begin], columns)
    begin, row = begin + 1, 0
    whole = made.dtype == np.uint8 and all(body.find(mark, begin) < 0 for mark in (b".", b"e", b"E"))
    while begin < end:
        cut = end if end - begin <= PIECE else body.rfind(b"\n", begin, begin + PIECE)
        if cut < 0:
            cut = _row_end(body, begin, end)
        rows = [
            _numbers(line, len(columns), row + number)
            for number, line in enumerate(body[begin:cut].split(b"\n"), start=1)
        ]
        numbers = np.array(rows)[:, order]
        with np.errstate(invalid="ignore"):  # NaN, too, becomes a number that uint8 does not hold
            numbers = numbers.astype(np.int64) if whole else numbers
        take(numbers, made[row : row + len(rows)])
        row, begin = row + len(rows), cut + 1
        yield


def _row_end(body: bytes, begin: int, end: int) -> int:
    """Where the row that begins at ``begin`` ends."""
    found = body.find(b"\n", begin, min(end, begin + LONGEST_ROW))
    if found < 0 and end - begin > LONGEST_ROW:
        raise BodyTooLarge(f"a row of more than {LONGEST_ROW} bytes", hint="send npy")
    return end if found < 0 else found


def _order(header: bytes, columns: tuple[str, ...]) -> list[int]:
    """Where the first row names each of ``columns``."""
    try:
        text = header.removeprefix(MARK).decode()
    except UnicodeDecodeError as error:
        raise MalformedBody("the first row of the CSV is not UTF-8") from error
    places = {name.strip().strip('"'): place for place, name in enumerate(text.split(","))}
    if len(places) != text.count(",") + 1 or places.keys() != set(columns):
        missing = [name for name in columns if name not in places]
        unknown = [name for name in places if name not in columns]
        said = [
            f"{what}: {', '.join(repr(name[:40]) for name in names[:8])}"
            for what, names in (("missing", missing), ("unknown", unknown))
            if names
        ]
        raise InvalidInput(
            f"the first row must name the model's {len(columns)} columns once each; "
            f"{'; '.join(said) or 'a name comes twice'}",
            hint="the model's card names them in 'input'; for a vector they are its places, from 0",
        )
    return [places[name] for name in columns]


def _numbers(line: bytes, width: int, row: int) -> list[float]:
    fields = line.split(b",")
    if len(fields) != width:
        raise InvalidInput(f"row {row} has {len(fields)} values; there are {width} columns")
    try:
        if max(map(len, fields)) > LONGEST_NUMBER:
            raise ValueError("a number of too many digits")
        return [float(field) for field in fields]
    except ValueError as error:
        raise InvalidInput(
            f"row {row} holds something that is no number", hint="leave no field empty"
        ) from error
