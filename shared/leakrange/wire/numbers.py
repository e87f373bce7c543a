"""Numbers in JSON, read a piece at a time: ``{"inputs": [[1, 2], [3, 4]]}``.

An ordinary JSON parser makes an object of every number and every list. That takes up to seventy times the
memory of the text, and no other thread runs meanwhile. Here a list of numbers is read in pieces of `PIECE`
bytes. Each piece becomes an array; of the lists around the numbers only the lengths are kept. Readers yield
after each piece, so that large bodies can take turns (`leakrange.wire.turns`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.wire.errors import BodyTooLarge, InvalidInput, LeakrangeError, MalformedBody

__all__ = ["MAX_NUMBERS", "finish", "list_shape", "read_list"]

PIECE: Final = 32_768
"""Bytes of text that are read at once: about a millisecond."""
MAX_DEPTH: Final = 64
"""Lists that are nested deeper are refused."""
MAX_NUMBERS: Final = 16_777_216
"""The most numbers in one list."""

_BLANKS: Final = b" \t\n\r"
_PLAIN: Final = b"0123456789+-.eE,[]" + _BLANKS
_NO_BRACKETS: Final = bytes.maketrans(b"[]", b"  ")
_START = re.compile(rb"[ \t\n\r]*\{")
_NAME = re.compile(rb'[ \t\n\r]*("(?:[^"\\\x00-\x1f]|\\.)*")[ \t\n\r]*:[ \t\n\r]*')
_TEXT = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NEXT = re.compile(rb"[ \t\n\r]*([,}])")
_DEPTH: Final = np.zeros(256, np.int8)
_DEPTH[ord("[")], _DEPTH[ord("]")] = 1, -1
_NONE: Final = np.empty(0)


_ListAndText = tuple[tuple[int, ...], str]
"""The content of a body: the shape of its list of numbers, and its text."""


def list_shape(body: bytes, name: str) -> Generator[Any, None, tuple[int, ...]]:
    """Read the shape of the list ``name``, the one member of a JSON body, from its brackets and commas alone.

    Raises `InvalidInput` if it is no rectangular list of numbers, `MalformedBody` if the body is not JSON.
    """
    shape, _ = yield from _members(body, name, None, values=False)
    return shape


def read_list(
    body: bytes,
    name: str,
    take: Callable[[NDArray[Any], NDArray[Any]], None],
    *,
    dtype: type[np.generic],
    text: str | None = None,
    most: int = MAX_NUMBERS,
) -> Generator[None, None, tuple[NDArray[Any], str]]:
    """Read the list ``name`` of a JSON body as an array of ``dtype``, and its member ``text``, a string.

    ``take(numbers, into)`` writes the numbers of a piece (int64, uint64 or float64) into a part of the array
    of that length. Raises `BodyTooLarge` for more than ``most`` numbers; `InvalidInput` for a ragged list,
    for other members, for an empty list and for anything but numbers; `MalformedBody` if the body is no JSON.
    """
    array: NDArray[Any] = np.empty(min(body.count(b",") + 1, most), dtype)
    seen = 0
    reading = _members(body, name, text, values=True)
    while True:
        try:
            numbers = next(reading)
        except StopIteration as end:
            shape, string = end.value
            return array[:seen].reshape(shape), string
        if seen + len(numbers) > len(array):
            raise BodyTooLarge(f"{name!r} holds more than {most} numbers", hint="send npy, or less at once")
        take(numbers, array[seen : seen + len(numbers)])
        seen += len(numbers)
        yield


def finish(work: Generator[Any, None, Any]) -> Any:
    """Do all steps now and return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


def _members(
    body: bytes, name: str, text: str | None, *, values: bool
) -> Generator[NDArray[Any], None, _ListAndText]:
    try:
        return (yield from _object(body, name, text, values))
    except LeakrangeError as error:
        if len(body) <= PIECE:  # then it costs nothing to tell a mistake in JSON from one in what it says
            try:
                orjson.loads(body)
            except orjson.JSONDecodeError as broken:
                raise _malformed(str(broken)) from error
            if isinstance(error, MalformedBody):
                raise InvalidInput(error.detail, hint=error.hint) from error
        raise


def _object(
    body: bytes, name: str, text: str | None, values: bool
) -> Generator[NDArray[Any], None, _ListAndText]:
    wanted = f'{{"{name}": [...]}}' if text is None else f'{{"{text}": ..., "{name}": [...]}}'
    other = InvalidInput(f"the JSON body must be {wanted} and nothing else")
    start = _START.match(body, 0, PIECE)
    if start is None:
        raise other
    place, value, missing = start.end(), "", {name} if text is None else {name, text}
    shape: tuple[int, ...] = ()
    while missing:
        member = _NAME.match(body, place, place + PIECE)
        key = _string(member[1]) if member else None
        if member is None or key not in missing:
            raise other
        missing.remove(key)
        if key == name:
            shape, place = yield from _numbers(body, member.end(), name, values)
        elif (string := _TEXT.match(body, member.end(), member.end() + PIECE)) is not None:
            value, place = _string(string[0]), string.end()
        else:
            raise InvalidInput(f"{text!r} must be a text")
        after = _NEXT.match(body, place, place + PIECE)
        if after is None or after[1] != (b"," if missing else b"}"):
            raise other
        place = after.end()
    if body[place : place + PIECE].strip(_BLANKS) or len(body) > place + PIECE:
        raise _malformed("something follows its end")
    return shape, value


def _string(token: bytes) -> str:
    try:
        return str(orjson.loads(token))
    except orjson.JSONDecodeError as error:
        raise _malformed(str(error)) from error


def _numbers(
    body: bytes, place: int, name: str, values: bool
) -> Generator[NDArray[Any], None, tuple[tuple[int, ...], int]]:
    """Yield the numbers of the list that begins at ``place``; returns its shape and its end."""
    if body[place : place + 1] != b"[":
        raise InvalidInput(f"{name!r} must be a list of numbers or of lists", hint="send a nested JSON list")
    lists = _Lists(name)
    begin = place
    while True:
        last = len(body) - begin <= PIECE
        cut = len(body) if last else body.rfind(b",", begin + 1, begin + PIECE)
        piece = body[begin:cut] if cut > 0 else body[begin : begin + PIECE]
        end = lists.take(piece)
        if end is not None:
            piece = piece[:end]
        if piece.translate(None, _PLAIN):
            raise InvalidInput(f"{name!r} must hold numbers only, of 64 bits at most")
        if cut < 0:
            raise _malformed(f"one number or blank of {name!r} has more than {PIECE} bytes")
        # All but the first piece begin with a comma.
        yield _parse(piece if begin == place else piece[1:], name) if values else _NONE
        if end is not None:
            return lists.shape(), begin + end
        if last:
            raise _malformed(f"it ends before {name!r} does")
        begin = cut


def _parse(piece: bytes, name: str) -> NDArray[Any]:
    # Leading blanks make orjson take the text for indented, and reserve too little memory.
    flat = piece.translate(_NO_BRACKETS).lstrip(_BLANKS)
    try:
        numbers = np.array(orjson.loads(b"[%b]" % flat))
    except orjson.JSONDecodeError as error:
        raise _malformed(f"{name!r} has no number where one is due ({error.msg})") from error
    if numbers.dtype.kind not in "uif":
        raise InvalidInput(f"{name!r} must hold numbers only, of 64 bits at most")
    return numbers


class _Lists:
    """Checks that the lists of each level have one length, and finds these lengths.

    Numbers are counted by their commas. All lists of a level must hold equally many numbers, so it is enough
    to look at the count whenever a list ends, and whenever an innermost one begins.
    """

    def __init__(self, name: str) -> None:
        self._name, self._depth, self._commas, self._levels = name, 0, 0, 0
        self._begun = 0
        self._sizes: list[int] = []
        """Numbers in a list of each level, the outermost first; 0 as long as none has ended."""
        self._ended: list[int] = []
        """How many lists of each level have ended."""

    def take(self, piece: bytes) -> int | None:
        """Look at the next ``piece``; return the end of the outermost list if it is in this piece."""
        tight = piece.translate(None, _BLANKS)
        if not self._levels:
            self._levels = len(tight) - len(tight.lstrip(b"["))
            if self._levels > MAX_DEPTH:
                raise _malformed(f"it is nested deeper than {MAX_DEPTH} levels")
            self._sizes, self._ended = [0] * self._levels, [0] * self._levels
        letters = np.frombuffer(piece, np.uint8)
        steps = _DEPTH[letters]
        brackets = np.flatnonzero(steps)
        steps = steps[brackets]
        depths = self._depth + np.cumsum(steps, dtype=np.int32)
        commas = np.cumsum(letters == ord(","), dtype=np.int32)
        done = np.flatnonzero(depths == 0)
        end = int(brackets[done[0]]) + 1 if len(done) else None
        if end is not None:
            kept = int(done[0]) + 1
            steps, depths, brackets = steps[:kept], depths[:kept], brackets[:kept]
            tight = piece[:end].translate(None, _BLANKS)
        if b"[]" in tight:
            raise InvalidInput(f"{self._name!r} holds an empty list")
        if b",]" in tight or b"[," in tight or b"][" in tight:
            raise _malformed(f"a comma of {self._name!r} is missing or too many")
        if len(depths) and depths.max() > self._levels:
            raise self._ragged("depth")
        if len(depths):
            numbers = self._commas + commas[brackets]
            self._end(depths[steps < 0] + 1, numbers[steps < 0] + 1)
            self._begin(numbers[(steps > 0) & (depths == self._levels)])
            self._depth = int(depths[-1])
        if len(commas):
            self._commas += int(commas[-1])
        return end

    def shape(self) -> tuple[int, ...]:
        """The shape of the whole list, after its end."""
        total = self._sizes[0]
        if any(size * ended != total for size, ended in zip(self._sizes, self._ended, strict=True)):
            raise self._ragged("depth")
        inner = [*self._sizes[1:], 1]
        return tuple(size // each for size, each in zip(self._sizes, inner, strict=True))

    def _begin(self, numbers: NDArray[Any]) -> None:
        """Note that innermost lists have begun after so many ``numbers``; no number may stand between two of
        them."""
        if (numbers != self._sizes[-1] * np.arange(self._begun, self._begun + len(numbers))).any():
            raise self._ragged("depth")
        self._begun += len(numbers)

    def _end(self, levels: NDArray[Any], numbers: NDArray[Any]) -> None:
        """Note that lists of these ``levels`` have ended after so many ``numbers`` in all."""
        for level in range(self._levels):
            counts = numbers[levels == level + 1]
            if not len(counts):
                continue
            size = self._sizes[level] = self._sizes[level] or int(counts[0])
            ended = self._ended[level]
            if (counts != size * np.arange(ended + 1, ended + 1 + len(counts))).any():
                raise self._ragged("length")
            self._ended[level] = ended + len(counts)

    def _ragged(self, how: str) -> InvalidInput:
        return InvalidInput(f"{self._name!r} is ragged: its lists differ in {how}")


def _malformed(why: str) -> MalformedBody:
    return MalformedBody(f"the body is not JSON: {why}", hint="NaN and Infinity are no JSON")
