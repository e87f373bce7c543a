"""Arrays over HTTP: ``.npy`` bodies and JSON lists, read with limits and never with pickle."""

from __future__ import annotations

import base64
import binascii
import math
import re
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput, MalformedBody, NotAcceptable

__all__ = [
    "JSON",
    "NPY",
    "decode_npy",
    "encode_npy",
    "from_base64",
    "from_text",
    "media_type",
    "negotiate",
    "npy_header",
    "npy_view",
    "numeric_array",
    "parse_json",
    "release_array",
    "to_text",
]

JSON = "application/json"
NPY = "application/x-npy"
MAX_HEADER = 4096
KEPT_HEADERS = 256
"""Headers of which the meaning is kept."""
MAX_SIDES = 32
MAX_DEPTH = 64
"""JSON that is nested deeper is refused."""
LONGEST_RELEASE = 1_048_576
"""The most numbers in one sample's release; the size of a body has a limit of its own."""


def media_type(content_type: str | None) -> str:
    """The media type of a ``Content-Type`` header, lower case, without its parameters; empty if there is
    none."""
    if content_type in (JSON, NPY):  # as nearly all are
        return content_type
    return (content_type or "").split(";", 1)[0].strip().lower()


def negotiate(accept: str | None) -> str:
    """`JSON` or `NPY`, whichever ``Accept`` weighs more (JSON at a tie); raises `NotAcceptable` if it allows
    neither."""
    if accept in (JSON, NPY):  # as nearly all are
        return accept
    if not accept or not accept.strip():
        return JSON
    return _preferred(accept) if len(accept) < 100 else _preferred.__wrapped__(accept)


@lru_cache(maxsize=256)
def _preferred(accept: str) -> str:
    weights = {JSON: (-1, 0.0), NPY: (-1, 0.0)}  # (how specific the matching range is, its weight)
    for item in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        for offered in weights:
            specific = 2 if kind == offered else 1 if kind == "application/*" else 0 if kind == "*/*" else -1
            if specific > weights[offered][0]:
                weights[offered] = (specific, weight)
    best = max(weights, key=lambda offered: (weights[offered][1], offered == JSON))
    if weights[best][1] <= 0.0:
        raise NotAcceptable(f"cannot answer as {accept[:200]!r}")
    return best


def npy_header(
    body: bytes | memoryview, *, stored: bool = False
) -> tuple[tuple[int, ...], np.dtype[Any], bool, int]:
    """Shape, dtype, Fortran order and data offset of an npy body, without reading the data.

    Raises `MalformedBody` if it is no npy file or its length does not fit its header, `InvalidInput` for
    objects, strings and other dtypes than numbers; in a ``stored`` file booleans and text are read, too. The
    declared size is checked against the bytes that are
    there, so a small body cannot ask for a large array. The header, which NumPy itself evaluates as Python,
    is read by a pattern: it is faster, and no untrusted text reaches a parser of code.
    """
    start = bytes(body[: MAX_HEADER + 12])
    if start[:6] != b"\x93NUMPY" or len(start) < 12:
        raise MalformedBody("the body is not an npy file", hint="write it with numpy.save")
    if start[6:8] not in (b"\x01\x00", b"\x02\x00"):
        raise MalformedBody(f"npy version {start[6]}.{start[7]} is not read", hint="write version 1.0 or 2.0")
    begin = 10 if start[6] == 1 else 12
    offset = begin + int.from_bytes(start[8:begin], "little")
    if offset > len(start):
        raise MalformedBody(f"the npy header is longer than {MAX_HEADER} bytes, or than the body")
    shape, dtype, fortran, size = _announced(start[begin:offset], stored)
    if size != len(body) - offset or len(shape) > MAX_SIDES:
        raise MalformedBody(f"the npy header announces {shape} of {dtype}, {len(body) - offset} bytes came")
    return shape, dtype, fortran, offset


@lru_cache(KEPT_HEADERS)
def _announced(header: bytes, stored: bool) -> tuple[tuple[int, ...], np.dtype[Any], bool, int]:
    """Shape, dtype, Fortran order and bytes of the data."""
    entries = _header_entries(header)
    descr, order, sides = entries["descr"], entries["fortran_order"], entries["shape"].split(b",")
    if not (_STORED if stored else _NUMBERS).fullmatch(descr):
        raise InvalidInput(
            f"npy dtype {descr.decode('latin1')} is not read",
            hint="send uint8, an integer or a float dtype; never objects",
        )
    dtype = np.dtype(descr.decode())
    shape = tuple(int(side) for side in sides if side.strip())
    return shape, dtype, order == b"True", math.prod(shape) * dtype.itemsize


_ENTRY = re.compile(
    rb"""\s*(['"])(?P<name>descr|fortran_order|shape)\1\s*:\s*"""
    rb"""(?:'(?P<text>[^']*)'|(?P<flag>True|False)|\((?P<sides>(?:\s*\d{1,12}\s*,)*(?:\s*\d{1,12})?)\s*\))\s*,?"""
)
_KINDS = {"descr": "text", "fortran_order": "flag", "shape": "sides"}
_NUMBERS = re.compile(rb"[<>|=]?(?:[ui][1248]|f[248])")
_STORED = re.compile(rb"[<>|=]?(?:[ui][1248]|f[248]|b1|U\d{1,6})")


def _header_entries(header: bytes) -> dict[str, bytes]:
    text = header.strip()
    entries: dict[str, bytes] = {}
    if text[:1] == b"{" and text[-1:] == b"}":
        place, end = 1, len(text) - 1
        while text[place:end].strip():
            entry = _ENTRY.match(text, place, end)
            value = entry[_KINDS[entry["name"].decode()]] if entry else None
            if entry is None or value is None or entry["name"].decode() in entries:
                break
            entries[entry["name"].decode()] = value
            place = entry.end()
        else:
            if len(entries) == len(_KINDS):
                return entries
    raise MalformedBody(
        "the npy header does not name a plain dtype, an order and a shape", hint="write it with numpy.save"
    )


def decode_npy(body: bytes | memoryview) -> NDArray[Any]:
    """The array of an npy body (numbers only); errors as of `npy_header`. The result shares no memory with
    ``body``."""
    array = npy_view(body)
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def npy_view(body: bytes | memoryview, *, stored: bool = False) -> NDArray[Any]:
    """Return ``body`` as an array like `decode_npy`, but without a copy: read only if that is, in its own
    order and byte order. ``stored``: see `npy_header`."""
    shape, dtype, fortran, offset = npy_header(body, stored=stored)
    flat = np.frombuffer(body, dtype=dtype, offset=offset)
    try:
        return flat.reshape(shape, order="F" if fortran else "C")
    except ValueError as error:  # an empty array may claim sides whose product no machine can address
        raise MalformedBody(f"the npy header announces the impossible shape {shape}") from error


def encode_npy(array: NDArray[Any]) -> bytes:
    """An npy file (version 1.0) of ``array``, a number array."""
    return _written_header(array.dtype.str, array.shape) + array.tobytes()


@lru_cache(KEPT_HEADERS)
def _written_header(descr: str, shape: tuple[int, ...]) -> bytes:
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    padding = -(len(header) + 11) % 64
    text = header.encode() + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def to_text(array: NDArray[Any]) -> str:
    """Return an npy file of ``array`` in base64: large arrays as a member of a JSON body."""
    return base64.b64encode(encode_npy(array)).decode("ascii")


def from_text(text: str) -> NDArray[Any]:
    """Read the array that `to_text` wrote; raises `MalformedBody` if it is no base64, else as
    `decode_npy`."""
    return decode_npy(from_base64(text))


def from_base64(text: str | memoryview) -> bytes:
    """Decode the base64 text; raises `MalformedBody`."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedBody("an array is not in base64") from error


def parse_json(body: bytes | memoryview) -> Any:
    """Parse JSON by orjson; raises `MalformedBody` for NaN, Infinity and values that are nested too deeply
    for it."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"the body is not JSON: {error}", hint="NaN and Infinity are no JSON") from error


def numeric_array(value: Any, name: str) -> NDArray[Any]:
    """Return nested lists of numbers as a NumPy array: int64 if all are integers, else float64.

    Raises `InvalidInput` for ragged lists and for anything but numbers (booleans included).
    """
    if not isinstance(value, list):
        raise InvalidInput(f"{name!r} must be a list of numbers or of lists", hint="send a nested JSON list")
    _check_leaves(value, name)
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{name!r} is ragged: its lists differ in length") from error
    if array.dtype.kind not in "uif":
        raise InvalidInput(f"{name!r} must hold numbers only, of 64 bits at most")
    return array


def _check_leaves(value: list[Any], name: str) -> None:
    """Check the numbers before NumPy sees them: one long string among them would make each of them as
    long."""
    level = value
    for _ in range(MAX_DEPTH):
        kinds = set(map(type, level))
        if kinds <= {int, float}:
            return
        if kinds != {list}:
            ragged = kinds <= {int, float, list}
            raise InvalidInput(
                f"{name!r} is ragged: its lists differ in depth"
                if ragged
                else f"{name!r} must hold numbers only, of 64 bits at most"
            )
        level = list(chain.from_iterable(level))
    raise InvalidInput(f"{name!r} is nested deeper than {MAX_DEPTH} levels")


def release_array(values: NDArray[Any], *, max_samples: int) -> NDArray[np.float32]:
    """Check that ``values`` is a release: (samples, ...) with one axis or more for each sample, finite in
    float32, within the limits. Returns it as float32.

    Raises `InvalidInput`, which says what is wrong.
    """
    if values.ndim < 2 or 0 in values.shape:
        raise InvalidInput(
            f"a release has a first axis of samples and one or more for each; this has shape {values.shape}",
            hint="send (samples, N), or (samples, ...) where a sample's release is no vector",
        )
    if len(values) > max_samples:
        raise InvalidInput(
            f"{len(values)} samples in one request; at most {max_samples}", hint="send smaller batches"
        )
    if (length := math.prod(values.shape[1:])) > LONGEST_RELEASE:
        raise InvalidInput(f"a release of {length} numbers a sample; at most {LONGEST_RELEASE}")
    if values.dtype == np.float32:
        array = np.array(values, np.float32)  # a copy: a view would keep the whole body
    else:
        with np.errstate(over="ignore"):
            array = values.astype(np.float32)
    if not np.logical_and.reduce(np.isfinite(array), axis=None):  # the method all() takes longer for few
        raise InvalidInput(
            "the values must be finite: NaN or infinity found", hint="check the model's outputs"
        )
    return array
