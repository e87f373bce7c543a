"""Images over HTTP: PNG and JPEG (one body or multipart), npy and JSON, all to the same uint8 pixels.

One canonical form for every encoding: uint8 (B, H, W, C). Floats in [0, 1] are rounded to 8 bits, so that the
same picture has the same digest (and so the same sticky noise) whichever way it is sent.
"""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from python_multipart.multipart import MultipartParser, parse_options_header

from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody, UnsupportedMedia
from leakrange.wire.tensors import JSON, NPY, decode_npy, media_type, npy_header, numeric_array, parse_json

__all__ = ["ImageLimits", "count_images", "decode_images", "json_member", "multipart_files", "pixels"]

MULTIPART = "multipart/form-data"
PICTURES = ("image/png", "image/jpeg")
MODES = {1: "L", 2: "LA", 3: "RGB"}
"""How Pillow reads a picture for a model of so many channels; two are those of a PNG with grey and alpha."""


@dataclass(frozen=True)
class ImageLimits:
    """Most samples a request, and most pixels (height × width) of a picture as its header declares it."""

    samples: int = 256
    pixels: int = 4_194_304


def decode_images(
    content_type: str | None, body: bytes, *, shape: tuple[int, int, int] | None, limits: ImageLimits
) -> NDArray[np.uint8]:
    """The images of a request body as uint8 (B, H, W, C).

    ``shape`` is the (H, W, C) that the model takes; None leaves it open. npy and JSON (``{"inputs": ...}``)
    hold (B, H, W, C) or one (H, W, C): integers 0..255 or floats in [0, 1]. Pictures are converted to the
    model's channels and must have its size.

    Raises `UnsupportedMedia`, `MalformedBody`, `BodyTooLarge` (samples, pixels), or `InvalidInput` (shape,
    range, NaN).
    """
    kind = media_type(content_type)
    if kind == NPY:
        count_images(content_type, body, limits=limits)
        return pixels(decode_npy(body), shape, limits)
    if kind == JSON:
        return pixels(numeric_array(json_member(body, "inputs"), "inputs"), shape, limits)
    if kind in PICTURES:
        files = [body]
    elif kind == MULTIPART:
        files = multipart_files(content_type or "", body, most=limits.samples)
    else:
        raise UnsupportedMedia(f"content type {kind or 'none'!r} holds no images")
    pictures = [_picture(file, number, shape, limits) for number, file in enumerate(files)]
    if len({picture.shape for picture in pictures}) > 1:
        raise InvalidInput("the pictures of one request differ in size", hint="send one size a request")
    return np.stack(pictures)


def count_images(content_type: str | None, body: bytes, *, limits: ImageLimits) -> int:
    """How many samples a request holds, from its headers where they tell; errors as of `decode_images`."""
    kind = media_type(content_type)
    if kind == NPY:
        shape = npy_header(body)[0]
        count = shape[0] if len(shape) == 4 else 1
    elif kind == JSON:
        value: Any = json_member(body, "inputs")
        depth, inner = 0, value
        while isinstance(inner, list) and inner:
            depth, inner = depth + 1, inner[0]
        count = len(value) if isinstance(value, list) and depth == 4 else 1
    elif kind in PICTURES:
        count = 1
    elif kind == MULTIPART:
        count = len(multipart_files(content_type or "", body, most=limits.samples))
    else:
        raise UnsupportedMedia(f"content type {kind or 'none'!r} holds no images")
    if count == 0:
        raise InvalidInput("the request holds no samples")
    if count > limits.samples:
        raise BodyTooLarge(f"{count} samples in one request; at most {limits.samples}")
    return count


def multipart_files(content_type: str, body: bytes, *, most: int) -> list[bytes]:
    """The file parts of a multipart body in order; raises `MalformedBody` or, for more than ``most``,
    `BodyTooLarge`."""
    try:
        boundary = parse_options_header(content_type)[1].get(b"boundary")
    except ValueError as error:
        raise MalformedBody("the multipart content type cannot be read") from error
    if not boundary:
        raise MalformedBody("the multipart content type names no boundary")
    files: list[bytearray] = []
    ended = False

    def begin() -> None:
        if len(files) >= most:
            raise BodyTooLarge(f"more than {most} files in one request")
        files.append(bytearray())

    def data(chunk: bytes, start: int, end: int) -> None:
        files[-1].extend(chunk[start:end])

    def end() -> None:
        nonlocal ended
        ended = True

    parser = MultipartParser(boundary, {"on_part_begin": begin, "on_part_data": data, "on_end": end})
    try:
        parser.write(body)
        parser.finalize()
    except ValueError as error:  # python-multipart's own errors are ValueErrors
        raise MalformedBody("the multipart body is broken") from error
    if not ended:
        raise MalformedBody("the multipart body has no end")
    if not files:
        raise InvalidInput("the multipart body holds no file")
    return [bytes(file) for file in files]


def json_member(body: bytes, name: str) -> Any:
    """The one member ``name`` of a JSON body, which holds numbers; raises `MalformedBody`, `InvalidInput`."""
    value = parse_json(body)
    if not isinstance(value, dict) or set(value) != {name}:
        raise InvalidInput(f'the JSON body must be {{"{name}": [...]}} and nothing else')
    if b"true" in body or b"false" in body:  # among numbers, NumPy would take them for 1 and 0
        raise InvalidInput(f"{name!r} must hold numbers only, not booleans")
    return value[name]


def _picture(
    file: bytes, number: int, shape: tuple[int, int, int] | None, limits: ImageLimits
) -> NDArray[np.uint8]:
    try:
        with Image.open(io.BytesIO(file), formats=("PNG", "JPEG")) as picture:
            width, height = picture.size  # from the header: nothing is decompressed yet
            if width * height > limits.pixels:
                raise BodyTooLarge(
                    f"picture {number} declares {width} x {height} pixels; at most {limits.pixels} in all",
                    hint="shrink the picture to the model's input size",
                )
            if shape is not None and (height, width) != shape[:2]:
                raise InvalidInput(
                    f"picture {number} is {height} x {width}; the model takes {shape[0]} x {shape[1]}"
                )
            channels = shape[2] if shape is not None else 1 if picture.mode in ("1", "L") else 3
            pixels = np.asarray(picture.convert(MODES[channels]), dtype=np.uint8)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BodyTooLarge(
            f"picture {number} declares too many pixels; at most {limits.pixels} in all",
            hint="shrink the picture to the model's input size",
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, OverflowError) as error:
        raise MalformedBody(f"picture {number} is not a PNG or JPEG that can be read") from error
    return pixels.reshape(height, width, channels)


def pixels(array: NDArray[Any], shape: tuple[int, int, int] | None, limits: ImageLimits) -> NDArray[np.uint8]:
    """Images (B, H, W, C), or one (H, W, C), of any number type, in the canonical form uint8 (B, H, W, C).

    Raises `BodyTooLarge`, or `InvalidInput` for a wrong shape, NaN, or values out of range.
    """
    if array.ndim == 3:
        array = array[np.newaxis]
    wanted = f"(B, {shape[0]}, {shape[1]}, {shape[2]})" if shape else "(B, H, W, C) with C = 1, 2 or 3"
    fits = array.ndim == 4 and (array.shape[1:] == shape if shape else array.shape[3] in MODES)
    if not fits or 0 in array.shape:
        raise InvalidInput(f"images must have shape {wanted}; these have {tuple(array.shape)}")
    if len(array) > limits.samples:
        raise BodyTooLarge(f"{len(array)} samples in one request; at most {limits.samples}")
    if array.shape[1] * array.shape[2] > limits.pixels:
        raise BodyTooLarge(
            f"images of {array.shape[1]} x {array.shape[2]} pixels; at most {limits.pixels} in all"
        )
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InvalidInput("the pixels must be finite: NaN or infinity found")
        if array.min() < 0.0 or array.max() > 1.0:
            raise InvalidInput("float pixels must lie in [0, 1]", hint="divide by 255, or send uint8")
        return np.rint(array * 255.0).astype(np.uint8)
    if array.min() < 0 or array.max() > 255:
        raise InvalidInput("integer pixels must lie in 0..255")
    return array.astype(np.uint8)
