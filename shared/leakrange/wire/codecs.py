"""Samples over HTTP: npy, JSON, CSV and the files of their encoding, all decoded to the same values.

The canonical form of a body is (B, *shape) in the type that the model's `SampleSpec` names. So the same
sample has the same digest (and the same sticky noise) in every format. For uint8, floats in [0, 1] are
rounded to 8 bits. A body is always a batch: its samples are counted before the model's card is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody, UnsupportedMedia
from leakrange.wire.multipart import MULTIPART, multipart_files
from leakrange.wire.numbers import list_shape, read_list
from leakrange.wire.rows import CSV, count_rows, read_rows
from leakrange.wire.samples import SampleSpec, encodings
from leakrange.wire.tensors import JSON, NPY, from_base64, media_type, npy_header, npy_view

__all__ = [
    "Reading",
    "all_media",
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

BLOCK: Final = 262_144
"""Numbers that are converted at once."""


@cache
def all_media() -> tuple[str, ...]:
    """The media types of bodies that hold samples of any kind."""
    return (JSON, NPY, MULTIPART, CSV, *(media for each in encodings.values() for media in each.files))


def media_of(spec: SampleSpec) -> tuple[str, ...]:
    """The media types of bodies that can hold such samples."""
    encoding = encodings[spec.encoding]
    files = encoding.media(spec)
    return (JSON, NPY, *((MULTIPART, *files) if files else ()), *((CSV,) if encoding.rows else ()))


def sample_steps(content_type: str | None, body: bytes, *, spec: SampleSpec, most: int) -> Reading:
    """Read the samples of a request body, (B, *shape) of the type that ``spec`` names, at most ``most``; a
    step at a time.

    npy and JSON hold (B, *shape): ``{"inputs": [...]}``, or ``{"inputs": "..."}`` with an npy file in base64.
    Pictures are converted to the model's channels and must have its size, recordings its rate, length and
    channels; a CSV names its columns in the first row.

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
    encoding = encodings[spec.encoding]
    if kind == CSV:
        yield from read_rows(body, encoding.column_names(spec), canonical, values)
        return values
    files: list[bytes | memoryview] = [body]
    if kind == MULTIPART:
        files = list(multipart_files(content_type or "", body, most=most))
    for number, file in enumerate(files):
        canonical(encoding.read_file(file, number, spec), values[number])
        yield
    return values


def decoding_size(content_type: str | None, body: bytes, spec: SampleSpec) -> int:
    """Return the bytes to decode: the greater of the size of a body and that of the samples in its files,
    since a small file may hold a large picture. None if a body can be taken as it is; errors as of
    `npy_header`."""
    kind = media_type(content_type)
    if kind == NPY and spec.dtype == "uint8":
        _, dtype, fortran, _ = npy_header(body)
        if dtype == np.uint8 and not fortran:
            return 0
    files = 1 if kind in encodings[spec.encoding].files else body.count(b"\r\n--") if kind == MULTIPART else 0
    return max(len(body), files * math.prod(spec.shape))


def count_steps(content_type: str | None, body: bytes, *, most: int) -> Generator[None, None, int]:
    """Count the samples of a request, from its headers if they tell; errors as of `sample_steps`."""
    kind, body = _unpacked(media_type(content_type), body)
    if kind in (NPY, JSON):
        shape = npy_header(body)[0] if kind == NPY else (yield from list_shape(body, "inputs"))
        count = shape[0] if shape else 0
    elif kind == CSV:
        count = yield from count_rows(body)
    elif kind == MULTIPART:
        count = len(multipart_files(content_type or "", body, most=most))
    elif kind in all_media():
        count = 1
    else:
        raise UnsupportedMedia(f"content type {kind or 'none'!r} holds no samples")
    return checked_count(count, most)


_IN_BASE64 = re.compile(rb'[ \t\n\r]*\{[ \t\n\r]*"inputs"[ \t\n\r]*:[ \t\n\r]*"')


def _unpacked(kind: str, body: bytes) -> tuple[str, bytes]:
    """Return the media type and the content of a body; of JSON with an npy file in base64, those of the
    file."""
    start = _IN_BASE64.match(body, 0, 256) if kind == JSON else None
    if start is None:
        return kind, body
    end = body.rfind(b'"')
    if body[end + 1 : end + 257].strip(b" \t\n\r") != b"}" or len(body) > end + 257:
        raise MalformedBody("the body is not JSON with the one member 'inputs'")
    return NPY, from_base64(memoryview(body)[start.end() : end])


def checked_count(count: int, most: int, what: str = "samples") -> int:
    """Return ``count``; raises `InvalidInput` if it is 0, `BodyTooLarge` if it is more than ``most``."""
    if count == 0:
        raise InvalidInput(f"the request holds no {what}")
    if count > most:
        raise BodyTooLarge(f"{count} {what} in one request; at most {most}")
    return count


def checked_shape(shape: tuple[int, ...], spec: SampleSpec, before: tuple[int, ...] = ()) -> None:
    """Raise `InvalidInput` unless ``shape`` is that of a batch of samples (of pairs, if ``before`` is
    (2,))."""
    if shape[1:] != (*before, *spec.shape):
        wanted = ", ".join(map(str, ("B", *before, *spec.shape)))
        hint = "send one sample as a batch of one" if shape == spec.shape else None
        raise InvalidInput(
            f"{spec.encoding} samples must have shape ({wanted}); these have {shape}", hint=hint
        )


def npy_values(body: bytes, spec: SampleSpec) -> Reading:
    """Read the numbers of an npy body in the canonical form, in the body's own shape. The result is a new
    array, or the body itself, read only, if its bytes are in that form."""
    array = npy_view(body)
    if spec.dtype == "uint8" and array.dtype == np.uint8 and array.flags.c_contiguous:
        return array
    values = np.empty(array.shape, spec.dtype)
    rows = max(1, BLOCK * len(array) // max(1, array.size))
    for begin in range(0, len(array), rows):
        canonical(array[begin : begin + rows], values[begin : begin + rows])
        yield
    return values


def json_values(body: bytes, name: str, spec: SampleSpec) -> Reading:
    """The list ``name`` of a JSON body in the canonical form, in its own shape."""
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
    """Write numbers of any type into an array of uint8 or float32; raises `InvalidInput` if it cannot hold a
    value."""
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
