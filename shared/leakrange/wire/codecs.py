"""Samples over HTTP: npy, JSON, PNG, JPEG, WAV and CSV, all decoded to the same values.

The canonical form of a body is (B, *shape) in the type that the model's `SampleSpec` names. So the same
sample has the same digest (and the same sticky noise) in every format. For uint8, floats in [0, 1] are
rounded to 8 bits. A body is always a batch: its samples are counted before the model's card is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody, UnsupportedMedia
from leakrange.wire.multipart import MULTIPART, multipart_files
from leakrange.wire.numbers import list_shape, read_list
from leakrange.wire.pictures import PICTURES, read_picture
from leakrange.wire.rows import CSV, count_rows, read_rows
from leakrange.wire.samples import SampleSpec
from leakrange.wire.sounds import WAV, is_sound, read_sound
from leakrange.wire.tensors import JSON, NPY, from_base64, media_type, npy_header, npy_view

__all__ = [
    "MEDIA",
    "Reading",
    "canonical",
    "checked_count",
    "checked_shape",
    "count_steps",
    "decoding_size",
    "json_values",
    "npy_values",
    "sample_steps",
]

Reading = Generator[None, None, NDArray[Any]]
"""Samples being read, a step at a time."""

ROWS: Final = ("table", "vector")
"""What a row of a CSV can be."""
FILES: Final[Mapping[str, Callable[[bytes | memoryview, int, SampleSpec], NDArray[Any]]]] = {
    **dict.fromkeys(PICTURES, read_picture),
    **dict.fromkeys(WAV, read_sound),
}
"""Media types of files that hold one sample each."""
MEDIA: Final = (JSON, NPY, MULTIPART, CSV, *FILES)
BLOCK: Final = 262_144
"""Numbers that are converted at once."""


def media_of(spec: SampleSpec) -> tuple[str, ...]:
    """The media types of bodies that can hold such samples."""
    if spec.encoding in ROWS:
        return (JSON, NPY, CSV)
    if spec.encoding == "picture":
        return (JSON, NPY, MULTIPART, *PICTURES)
    return (JSON, NPY, MULTIPART, *WAV) if is_sound(spec) else (JSON, NPY)


def sample_steps(content_type: str | None, body: bytes, *, spec: SampleSpec, most: int) -> Reading:
    """The samples of a request body, (B, *shape) of the type that ``spec`` names, ``most`` at most; a step at
    a time.

    npy and JSON hold (B, *shape): ``{"inputs": [...]}``, or ``{"inputs": "..."}`` with an npy file in
    base64. Pictures are converted to the model's channels and must have its size, recordings its rate,
    length and channels; a CSV names its columns in the first row.

    Raises `UnsupportedMedia`, `MalformedBody`, `BodyTooLarge`, or `InvalidInput` (shape, range, NaN).
    """
    kind, body = _unpacked(media_type(content_type), body)
    if kind not in media_of(spec):
        raise UnsupportedMedia(
            f"content type {kind or 'none'!r} holds no {spec.encoding}",
            hint=f"send one of: {', '.join(media_of(spec))}",
        )
    if kind == JSON:
        values = yield from json_values(body, "inputs", spec)
        checked_count(len(values), most)
        checked_shape(values.shape, spec)
        return values
    if kind == NPY:
        shape, *_ = npy_header(body)
        checked_count(shape[0] if shape else 0, most)
        checked_shape(shape, spec)  # before anything is made of it
        return (yield from npy_values(body, spec))
    count = yield from count_steps(content_type, body, most=most)
    values = np.empty((count, *spec.shape), spec.dtype)
    if kind == CSV:
        columns = spec.columns or tuple(str(place) for place in range(spec.shape[0]))
        yield from read_rows(body, columns, canonical, values)
        return values
    files: list[bytes | memoryview] = [body]
    if kind == MULTIPART:
        files = list(multipart_files(content_type or "", body, most=most))
    read = read_picture if spec.encoding == "picture" else read_sound
    for number, file in enumerate(files):
        canonical(read(file, number, spec), values[number])
        yield
    return values


def decoding_size(content_type: str | None, body: bytes, spec: SampleSpec) -> int:
    """Bytes to decode: those of a body, or of the pictures in it, whichever is more, since a small file may
    hold a large picture. None where a body can be taken as it is; errors as of `npy_header`."""
    kind = media_type(content_type)
    if kind == NPY and spec.dtype == "uint8":
        _, dtype, fortran, _ = npy_header(body)
        if dtype == np.uint8 and not fortran:
            return 0
    files = 1 if kind in PICTURES else body.count(b"\r\n--") if kind == MULTIPART else 0
    return max(len(body), files * math.prod(spec.shape))


def count_steps(content_type: str | None, body: bytes, *, most: int) -> Generator[None, None, int]:
    """How many samples a request holds, from its headers where they tell; errors as of `sample_steps`."""
    kind, body = _unpacked(media_type(content_type), body)
    if kind in (NPY, JSON):
        shape = npy_header(body)[0] if kind == NPY else (yield from list_shape(body, "inputs"))
        count = shape[0] if shape else 0
    elif kind == CSV:
        count = yield from count_rows(body)
    elif kind in FILES:
        count = 1
    elif kind == MULTIPART:
        count = len(multipart_files(content_type or "", body, most=most))
    else:
        raise UnsupportedMedia(f"content type {kind or 'none'!r} holds no samples")
    return checked_count(count, most)


_IN_BASE64 = re.compile(rb'[ \t\n\r]*\{[ \t\n\r]*"inputs"[ \t\n\r]*:[ \t\n\r]*"')


def _unpacked(kind: str, body: bytes) -> tuple[str, bytes]:
    """A body's media type and itself; of an npy file in base64, which JSON holds, those of the file."""
    start = _IN_BASE64.match(body, 0, 256) if kind == JSON else None
    if start is None:
        return kind, body
    end = body.rfind(b'"')
    if body[end + 1 : end + 257].strip(b" \t\n\r") != b"}" or len(body) > end + 257:
        raise MalformedBody("the body is not JSON with the one member 'inputs'")
    return NPY, from_base64(memoryview(body)[start.end() : end])


def checked_count(count: int, most: int, what: str = "samples") -> int:
    """``count``; raises `InvalidInput` for none, `BodyTooLarge` for more than ``most``."""
    if count == 0:
        raise InvalidInput(f"the request holds no {what}")
    if count > most:
        raise BodyTooLarge(f"{count} {what} in one request; at most {most}")
    return count


def checked_shape(found: tuple[int, ...], spec: SampleSpec, before: tuple[int, ...] = ()) -> None:
    """Raises `InvalidInput` unless ``found`` is that of a batch of samples (of pairs, where ``before`` is
    (2,))."""
    if found[1:] != (*before, *spec.shape):
        wanted = ", ".join(map(str, ("B", *before, *spec.shape)))
        hint = "send one sample as a batch of one" if found == spec.shape else None
        raise InvalidInput(
            f"{spec.encoding} samples must have shape ({wanted}); these have {found}", hint=hint
        )


def npy_values(body: bytes, spec: SampleSpec) -> Reading:
    """The numbers of an npy body in the canonical form, of the shape that it has: a new array, or the body
    itself, read only, where its bytes are in that form."""
    array = npy_view(body)
    if spec.dtype == "uint8" and array.dtype == np.uint8 and array.flags.c_contiguous:
        return array
    made = np.empty(array.shape, spec.dtype)
    rows = max(1, BLOCK * len(array) // max(1, array.size))
    for begin in range(0, len(array), rows):
        canonical(array[begin : begin + rows], made[begin : begin + rows])
        yield
    return made


def json_values(body: bytes, name: str, spec: SampleSpec) -> Reading:
    """The list ``name`` of a JSON body in the canonical form, of the shape that it has."""
    integers: list[NDArray[Any]] = []
    floats = False

    def take(numbers: NDArray[Any], into: NDArray[Any]) -> None:
        nonlocal floats
        canonical(numbers, into)
        if numbers.dtype.kind == "f":
            floats = True
        else:
            integers.append(into)

    array, _ = yield from read_list(body, name, take, dtype=np.dtype(spec.dtype).type)
    if floats and spec.dtype == "uint8":
        for whole in integers:  # among floats, 1 is 255
            if whole.max(initial=0) > 1:
                raise _no_share()
            whole *= 255
    return array


def canonical(array: NDArray[Any], into: NDArray[Any]) -> None:
    """Write numbers of any type into an array of uint8 or float32; raises `InvalidInput` for values that
    it cannot hold."""
    if array.dtype == into.dtype == np.uint8:
        into[:] = array
        return
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInput("the values must be finite: NaN or infinity found")
    if into.dtype == np.float32:
        with np.errstate(over="ignore"):
            into[:] = array
        if not np.isfinite(into).all():
            raise InvalidInput("the values must fit 32 bit floats")
        into += np.float32(0)  # minus zero would be another digest of the same sample
    elif array.dtype.kind == "f":
        if array.size and (array.min() < 0.0 or array.max() > 1.0):
            raise _no_share()
        into[:] = np.rint(array * 255.0)
    else:
        if array.size and (array.min() < 0 or array.max() > 255):
            raise InvalidInput("integer values must lie in 0..255")
        into[:] = array


def _no_share() -> InvalidInput:
    return InvalidInput("float values must lie in [0, 1]", hint="divide by 255, or send uint8")
