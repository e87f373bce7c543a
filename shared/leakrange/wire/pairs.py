"""Pairs of images over HTTP, which a verification compares; and what names an image, a pair, a person."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.digests import digest_each
from leakrange.wire.errors import BodyTooLarge, InvalidInput, UnsupportedMedia
from leakrange.wire.images import ImageLimits, checked_shape, image_steps, json_pixels, pixels
from leakrange.wire.multipart import MULTIPART, multipart_files
from leakrange.wire.numbers import finish, list_shape
from leakrange.wire.tensors import JSON, NPY, media_type, npy_header, npy_view

__all__ = [
    "MARK",
    "count_pairs",
    "decode_pairs",
    "image_marks",
    "joint_mark",
    "pair_count_steps",
    "pair_steps",
    "same_person",
]

MARK = "X-Gallery-Mark"
"""Header of a provider's answer about an enrolled person, in hexadecimal: the `joint_mark` of the images that
the person was enrolled by. A proxy keeps it to itself."""


def decode_pairs(
    content_type: str | None, body: bytes, *, shape: tuple[int, int, int] | None, limits: ImageLimits
) -> NDArray[np.uint8]:
    """The pairs of a request body as uint8 (B, 2, H, W, C); ``limits.samples`` counts pairs.

    npy holds (B, 2, H, W, C), JSON ``{"pairs": [[image, image], ...]}``, multipart 2·B files in order.
    Otherwise as `decode_images`.
    """
    pairs: NDArray[np.uint8] = finish(pair_steps(content_type, body, shape=shape, limits=limits))
    return pairs


def pair_steps(
    content_type: str | None, body: bytes, *, shape: tuple[int, int, int] | None, limits: ImageLimits
) -> Generator[None, None, NDArray[np.uint8]]:
    """`decode_pairs`, a step at a time."""
    within = ImageLimits(samples=2 * limits.samples, pixels=limits.pixels)
    kind = media_type(content_type)
    if kind == MULTIPART:
        yield from pair_count_steps(content_type, body, limits=limits)
        images = yield from image_steps(content_type, body, shape=shape, limits=within)
        return images.reshape(-1, 2, *images.shape[1:])
    if kind == JSON:
        values = yield from json_pixels(body, "pairs")
        count, found = _check(values.shape, limits), values.shape
    else:
        count = yield from pair_count_steps(content_type, body, limits=limits)
        found = npy_header(body)[0]
    fitting = checked_shape((2 * count, *found[2:]), shape, within)
    if kind != JSON:
        values = pixels(npy_view(body))
    return values.reshape(count, 2, *fitting[1:])


def count_pairs(content_type: str | None, body: bytes, *, limits: ImageLimits) -> int:
    """How many pairs a request holds, from its headers where they tell; errors as of `decode_pairs`."""
    count: int = finish(pair_count_steps(content_type, body, limits=limits))
    return count


def pair_count_steps(
    content_type: str | None, body: bytes, *, limits: ImageLimits
) -> Generator[None, None, int]:
    """`count_pairs`, a step at a time."""
    kind = media_type(content_type)
    if kind == NPY:
        return _check(npy_header(body)[0], limits)
    if kind == JSON:
        return _check((yield from list_shape(body, "pairs")), limits)
    if kind == MULTIPART:
        files = len(multipart_files(content_type or "", body, most=2 * limits.samples))
        if files % 2:
            raise InvalidInput(
                f"{files} files are no pairs", hint="send two files a pair, one after the other"
            )
        count = files // 2
    else:
        raise UnsupportedMedia(
            f"content type {kind or 'none'!r} holds no pairs",
            hint=f"send {JSON}, {NPY} or {MULTIPART} with two files a pair",
        )
    return _within(count, limits)


def image_marks(images: NDArray[np.uint8]) -> list[bytes]:
    """What names each image of uint8 (B, H, W, C): 32 bytes, the same for the same pixels in every party."""
    named = hashlib.blake2b(repr(images.shape[1:]).encode(), digest_size=32, person=b"image")
    return digest_each(named, (np.ascontiguousarray(image).data for image in images))


def joint_mark(marks: Iterable[bytes]) -> bytes:
    """What names a set of images, whatever their order and however often each comes; one image keeps its own
    mark."""
    distinct = sorted(set(marks))
    if len(distinct) == 1:
        return distinct[0]
    return hashlib.blake2b(b"".join(distinct), digest_size=32, person=b"images").digest()


def same_person(distances: NDArray[np.float32], threshold: float) -> list[bool]:
    """Whether each distance of (B, 1) is at most ``threshold``; compared in float32, as it is released."""
    within: list[bool] = (distances[:, 0] <= np.float32(threshold)).tolist()
    return within


def _check(shape: tuple[int, ...], limits: ImageLimits) -> int:
    if len(shape) != 5 or shape[1] != 2:
        raise InvalidInput(f"pairs of images must have shape (B, 2, H, W, C); these have {shape}")
    return _within(shape[0], limits)


def _within(count: int, limits: ImageLimits) -> int:
    if count == 0:
        raise InvalidInput("the request holds no pairs")
    if count > limits.samples:
        raise BodyTooLarge(f"{count} pairs in one request; at most {limits.samples}")
    return count
