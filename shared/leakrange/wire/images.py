"""Images over HTTP: PNG and JPEG (one body or multipart), npy and JSON, all to the same uint8 pixels.

One canonical form for every encoding: uint8 (B, H, W, C). Floats in [0, 1] are rounded to 8 bits, so that the
same picture has the same digest (and so the same sticky noise) whichever way it is sent.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import BodyTooLarge, InvalidInput, UnsupportedMedia
from leakrange.wire.multipart import MULTIPART, multipart_files
from leakrange.wire.numbers import finish, list_shape, read_list
from leakrange.wire.pictures import MODES, read_picture
from leakrange.wire.tensors import JSON, NPY, media_type, npy_header, npy_view

__all__ = [
    "ImageLimits",
    "checked_shape",
    "count_images",
    "count_steps",
    "decode_images",
    "image_steps",
    "json_pixels",
    "pixels",
]

PICTURES = ("image/png", "image/jpeg")
BLOCK: Final = 262_144
"""Pixels that are converted at once."""


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
    images: NDArray[np.uint8] = finish(image_steps(content_type, body, shape=shape, limits=limits))
    return images


def image_steps(
    content_type: str | None, body: bytes, *, shape: tuple[int, int, int] | None, limits: ImageLimits
) -> Generator[None, None, NDArray[np.uint8]]:
    """`decode_images`, a step at a time."""
    kind = media_type(content_type)
    if kind == NPY:
        count = yield from count_steps(content_type, body, limits=limits)
        fitting = checked_shape(npy_header(body)[0], shape, limits)  # before anything is made of it
        return pixels(npy_view(body)).reshape(count, *fitting[1:])
    if kind == JSON:
        values = yield from json_pixels(body, "inputs")
        return values.reshape(checked_shape(values.shape, shape, limits))
    if kind in PICTURES:
        files: Sequence[bytes | memoryview] = [body]
    elif kind == MULTIPART:
        files = multipart_files(content_type or "", body, most=limits.samples)
    else:
        raise UnsupportedMedia(f"content type {kind or 'none'!r} holds no images")
    pictures = []
    for number, file in enumerate(files):
        pictures.append(read_picture(file, number, shape, most=limits.pixels))
        yield
    if len({picture.shape for picture in pictures}) > 1:
        raise InvalidInput("the pictures of one request differ in size", hint="send one size a request")
    return np.stack(pictures)


def count_images(content_type: str | None, body: bytes, *, limits: ImageLimits) -> int:
    """How many samples a request holds, from its headers where they tell; errors as of `decode_images`."""
    count: int = finish(count_steps(content_type, body, limits=limits))
    return count


def count_steps(content_type: str | None, body: bytes, *, limits: ImageLimits) -> Generator[None, None, int]:
    """`count_images`, a step at a time."""
    kind = media_type(content_type)
    if kind in (NPY, JSON):
        shape = npy_header(body)[0] if kind == NPY else (yield from list_shape(body, "inputs"))
        count = shape[0] if len(shape) == 4 else 1
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


def json_pixels(body: bytes, name: str) -> Generator[None, None, NDArray[np.uint8]]:
    """The list ``name`` of a JSON body as canonical pixels in the shape that it has, a step at a time."""
    integers: list[NDArray[np.uint8]] = []
    floats = False

    def take(numbers: NDArray[Any], into: NDArray[Any]) -> None:
        nonlocal floats
        into[:] = _canonical(numbers)
        if numbers.dtype.kind == "f":
            floats = True
        else:
            integers.append(into)

    array, _ = yield from read_list(body, name, take, dtype=np.uint8)
    for whole in integers if floats else ():  # among floats, 1 is white
        if whole.max(initial=0) > 1:
            raise _no_float_pixels()
        whole *= 255
    return array


def checked_shape(
    found: tuple[int, ...], shape: tuple[int, int, int] | None, limits: ImageLimits
) -> tuple[int, ...]:
    """The (B, H, W, C) of images of shape ``found``, which is that or one (H, W, C).

    Raises `InvalidInput` where they do not fit ``shape``, `BodyTooLarge` for too many or too large ones.
    """
    given = (1, *found) if len(found) == 3 else found
    wanted = f"(B, {shape[0]}, {shape[1]}, {shape[2]})" if shape else "(B, H, W, C) with C = 1, 2 or 3"
    fits = len(given) == 4 and (given[1:] == shape if shape else given[3] in MODES)
    if not fits or 0 in given:
        raise InvalidInput(f"images must have shape {wanted}; these have {given}")
    if given[0] > limits.samples:
        raise BodyTooLarge(f"{given[0]} samples in one request; at most {limits.samples}")
    if given[1] * given[2] > limits.pixels:
        raise BodyTooLarge(f"images of {given[1]} x {given[2]} pixels; at most {limits.pixels} in all")
    return given


def pixels(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Numbers of any type and shape in the canonical form, a new uint8 array; raises `InvalidInput` for NaN
    or values out of range."""
    if array.dtype == np.uint8:
        return np.array(array, order="C")
    made = np.empty(array.shape, np.uint8)
    rows = max(1, BLOCK * len(array) // max(1, array.size)) if array.ndim else 1
    for begin in range(0, len(array), rows):
        made[begin : begin + rows] = _canonical(array[begin : begin + rows])
    return made


def _canonical(array: NDArray[Any]) -> NDArray[np.uint8]:
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InvalidInput("the pixels must be finite: NaN or infinity found")
        if array.size and (array.min() < 0.0 or array.max() > 1.0):
            raise _no_float_pixels()
        return np.rint(array * 255.0).astype(np.uint8)
    if array.size and (array.min() < 0 or array.max() > 255):
        raise InvalidInput("integer pixels must lie in 0..255")
    return array.astype(np.uint8)


def _no_float_pixels() -> InvalidInput:
    return InvalidInput("float pixels must lie in [0, 1]", hint="divide by 255, or send uint8")
