"""Decodes CSV: a first row that names the columns, then one row per sample."""

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
"""Bytes that are read at once: some milliseconds. At most so many line breaks may follow the last row."""
LONGEST_ROW: Final = 1_048_576
MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark with which some programs begin a UTF-8 file."""


def count_rows(body: bytes) -> Generator[None, None, int]:
    """Count the samples in a body, which are its rows below the first; a step at a time."""
    end, breaks = _end(body), 0
    for begin in range(0, end, LONGEST_ROW):
        breaks += body.count(b"\n", begin, min(end, begin + LONGEST_ROW))
        yield
    return breaks


def read_rows(
    body: bytes, columns: tuple[str, ...], take: Take, into: NDArray[Any]
) -> Generator[None, None, None]:
    """Fill ``into`` (rows, columns) by ``take(numbers, part)``, some rows at a time. The columns are in the
    order of ``columns``, whatever their order in the body.

    Numbers for uint8 are read as whole numbers if none of them has a fraction. Raises `MalformedBody` if the
    first row is no text, `BodyTooLarge` for an overlong row, `InvalidInput` for other columns, for rows of
    another length and for anything but numbers.
    """
    end = _end(body)
    begin = _row_end(body, 0, end)
    order = _order(body[:begin], columns)
    begin, row = begin + 1, 0
    whole = into.dtype == np.uint8 and all(body.find(mark, begin) < 0 for mark in (b".", b"e", b"E"))
    while begin < end:
        cut = end if end - begin <= PIECE else body.rfind(b"\n", begin, begin + PIECE)
        if cut < 0:
            cut = _row_end(body, begin, end)
        numbers = _numbers(body[begin:cut], len(columns), row)[:, order]
        with np.errstate(invalid="ignore"):  # NaN, too, becomes a number that uint8 does not hold
            numbers = numbers.astype(np.int64) if whole else numbers
        take(numbers, into[row : row + len(numbers)])
        row, begin = row + len(numbers), cut + 1
        yield


def _end(body: bytes) -> int:
    """Return the end of the last row, which a few line breaks may follow."""
    last = body[-PIECE:]
    return len(body) - len(last) + len(last.rstrip(b"\r\n"))


def _row_end(body: bytes, begin: int, end: int) -> int:
    """Return the end of the row that begins at ``begin``."""
    line_end = body.find(b"\n", begin, min(end, begin + LONGEST_ROW))
    if line_end < 0 and end - begin > LONGEST_ROW:
        raise BodyTooLarge(f"a row of more than {LONGEST_ROW} bytes", hint="send npy")
    return end if line_end < 0 else line_end


def _order(header: bytes, columns: tuple[str, ...]) -> list[int]:
    """Return the places at which the first row names ``columns``."""
    wanted, places = set(columns), dict[str, int]()
    if header.count(b",") + 1 == len(columns):
        try:
            names = header.removeprefix(MARK).decode().split(",")
        except UnicodeDecodeError as error:
            raise MalformedBody("the first row of the CSV is not UTF-8") from error
        places = {name.strip().strip('"'): place for place, name in enumerate(names)}
    if places.keys() != wanted:
        missing = [repr(name[:40]) for name in columns if name not in places]
        raise InvalidInput(
            f"the first row must name the model's {len(columns)} columns once each, and no others; missing: "
            f"{', '.join(missing[:8])}",
            hint="the model's card names them in 'input'; for a vector they are its places, from 0",
        )
    return [places[name] for name in columns]


def _numbers(piece: bytes, width: int, row: int) -> NDArray[np.float64]:
    """Read the numbers (rows, width) of some rows; the first is row number ``row``, from 0."""
    rows = piece.count(b"\n") + 1
    letters = np.frombuffer(piece, np.uint8)
    ends = letters[(letters == ord(",")) | (letters == ord("\n"))] == ord("\n")
    wanted = np.zeros(rows * width, np.bool_)
    wanted[width - 1 :: width] = True
    numbers = _parsed(piece.replace(b"\n", b","))
    if np.array_equal(ends, wanted[:-1]) and len(numbers) == rows * width:
        return numbers.reshape(rows, width)
    for number, line in enumerate(piece.split(b"\n"), start=row + 1):
        if line.count(b",") + 1 != width:
            raise InvalidInput(f"row {number} has {line.count(b',') + 1} values; there are {width} columns")
        if len(_parsed(line)) != width:
            message = f"row {number} holds something that is no number"
            raise InvalidInput(message, hint="leave no field empty")
    raise InvalidInput("the rows hold something that is no number")


def _parsed(text: bytes) -> NDArray[np.float64]:
    """Return the numbers between commas; fewer than the fields if a field is no number."""
    try:
        return np.fromstring(text, sep=",")
    except (ValueError, DeprecationWarning):  # older versions of NumPy warn, and give those before it
        return np.empty(0)
