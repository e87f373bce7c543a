"""Arrays over HTTP: ``.npy`` bodies and JSON lists, read with limits and never with pickle."""

from __future__ import annotations

import io
import math
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
    "media_type",
    "negotiate",
    "npy_header",
    "numeric_array",
    "parse_json",
    "release_array",
]

JSON = "application/json"
NPY = "application/x-npy"
MAX_HEADER = 4096
MAX_DEPTH = 64
"""Deeper JSON than this is nobody's tensor."""


def media_type(content_type: str | None) -> str:
    """The media type of a ``Content-Type`` header, lower case, without its parameters; empty where there is
    none."""
    return (content_type or "").split(";", 1)[0].strip().lower()


def negotiate(accept: str | None) -> str:
    """`JSON` or `NPY`, whichever ``Accept`` weighs more (JSON at a tie); raises `NotAcceptable` where it
    allows neither."""
    if not accept or not accept.strip():
        return JSON
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


def npy_header(body: bytes | memoryview) -> tuple[tuple[int, ...], np.dtype[Any], bool, int]:
    """Shape, dtype, Fortran order and data offset of an npy body, without reading the data.

    Raises `MalformedBody` where it is no npy file or its length does not fit its header, `InvalidInput` for
    objects, strings and other dtypes than numbers. The declared size is checked against the bytes that are
    there, so a small body cannot ask for a large array.
    """
    stream = io.BytesIO(bytes(body[: MAX_HEADER + 16]))
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=MAX_HEADER)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream, max_header_size=MAX_HEADER)
        else:
            raise MalformedBody(
                f"npy version {version[0]}.{version[1]} is not read", hint="write version 1.0 or 2.0"
            )
    except (ValueError, EOFError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise MalformedBody("the body is not an npy file", hint="write it with numpy.save") from error
    if dtype.kind not in "uif" or dtype.itemsize > 8:
        raise InvalidInput(
            f"npy dtype {dtype} is not read", hint="send uint8, an integer or a float dtype; never objects"
        )
    if any(not isinstance(side, int) or side < 0 for side in shape):
        raise MalformedBody("the npy header holds an impossible shape")
    offset = stream.tell()
    expected = math.prod(shape) * dtype.itemsize
    if len(body) - offset != expected:
        raise MalformedBody(f"the npy header announces {expected} bytes of data, {len(body) - offset} came")
    return tuple(shape), dtype, fortran, offset


def decode_npy(body: bytes | memoryview) -> NDArray[Any]:
    """The array of an npy body (numbers only); errors as of `npy_header`. The result shares no memory with
    ``body``."""
    shape, dtype, fortran, offset = npy_header(body)
    flat = np.frombuffer(body, dtype=dtype, offset=offset)
    array = flat.reshape(shape, order="F" if fortran else "C")
    return np.array(array, dtype=dtype.newbyteorder("="), order="C")


def encode_npy(array: NDArray[Any]) -> bytes:
    """An npy file (version 1.0) of ``array``."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def parse_json(body: bytes | memoryview) -> Any:
    """JSON by orjson; NaN, Infinity and what is nested too deeply are refused as `MalformedBody`."""
    raw = bytes(body)
    depth = deepest = 0
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        quoted = escaped = False
        for byte in raw[
            :65536
        ]:  # deep nesting can only start early: a tensor's first element is at its full depth
            if quoted:
                quoted, escaped = (byte != 0x22 or escaped), (byte == 0x5C and not escaped)
            elif byte == 0x22:
                quoted, escaped = True, False
            elif byte in b"[{":
                depth += 1
                deepest = max(deepest, depth)
            elif byte in b"]}":
                depth -= 1
        if deepest > MAX_DEPTH:
            raise MalformedBody(f"JSON nested deeper than {MAX_DEPTH} levels")
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"the body is not JSON: {error}", hint="NaN and Infinity are no JSON") from error


def numeric_array(value: Any, name: str) -> NDArray[Any]:
    """A NumPy array of nested lists of numbers: int64 where all are integers, else float64.

    Raises `InvalidInput` for ragged lists and for anything but numbers (booleans included).
    """
    if not isinstance(value, list):
        raise InvalidInput(f"{name!r} must be a list of numbers or of lists", hint="send a nested JSON list")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{name!r} is ragged: its lists differ in length") from error
    if array.dtype.kind not in "uif":
        raise InvalidInput(f"{name!r} must hold numbers only, of 64 bits at most")
    return array


def release_array(values: NDArray[Any], *, max_samples: int, max_length: int = 65536) -> NDArray[np.float32]:
    """Check that ``values`` is a release: (samples, N), finite in float32, within the limits; gives it as
    float32.

    Raises `InvalidInput`, which says what is wrong.
    """
    if values.ndim != 2 or 0 in values.shape:
        raise InvalidInput(f"a release is (samples, N); this has shape {tuple(values.shape)}")
    if len(values) > max_samples:
        raise InvalidInput(
            f"{len(values)} samples in one request; at most {max_samples}", hint="send smaller batches"
        )
    if values.shape[1] > max_length:
        raise InvalidInput(f"a release of {values.shape[1]} numbers; at most {max_length}")
    with np.errstate(over="ignore"):
        array = values.astype(np.float32)
    if not np.isfinite(array).all():
        raise InvalidInput(
            "the values must be finite: NaN or infinity found", hint="check the model's outputs"
        )
    return array
