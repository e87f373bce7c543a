"""Pairs of samples over HTTP, for verification; and marks that identify a sample, a pair or a person."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.codecs import (
    Reading,
    checked_count,
    checked_shape,
    count_steps,
    json_values,
    npy_values,
    sample_steps,
)
from leakrange.wire.digests import digest_each
from leakrange.wire.errors import InvalidInput, UnsupportedMedia
from leakrange.wire.multipart import MULTIPART
from leakrange.wire.numbers import list_shape
from leakrange.wire.rows import CSV
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, media_type, npy_header

__all__ = ["MARK", "joint_mark", "pair_count_steps", "pair_steps", "same_person", "sample_marks"]

ONE_BY_ONE = (MULTIPART, CSV)
"""Media types that hold samples one after the other: two are a pair."""
MARK = "X-Gallery-Mark"
"""Header of a provider's answer about an enrolled person, in hexadecimal: the `joint_mark` of the samples
that the person was enrolled by. A proxy keeps it to itself."""


def pair_steps(content_type: str | None, body: bytes, *, spec: SampleSpec, most: int) -> Reading:
    """Read the pairs of a request body, (B, 2, *shape) of the type that ``spec`` names, ``most`` pairs at
    most; a step at a time.

    npy holds (B, 2, *shape), JSON ``{"pairs": [[sample, sample], ...]}``, multipart 2·B files in order, a CSV
    2·B rows. Otherwise as `sample_steps`.
    """
    kind = media_type(content_type)
    if kind == JSON:
        values = yield from json_values(body, "pairs", spec)
        _check(values.shape, most)
        checked_shape(values.shape, spec, (2,))
        return values
    yield from pair_count_steps(content_type, body, most=most)
    if kind == NPY:
        checked_shape(npy_header(body)[0], spec, (2,))
        return (yield from npy_values(body, spec))
    samples = yield from sample_steps(content_type, body, spec=spec, most=2 * most)
    return samples.reshape(-1, 2, *spec.shape)


def pair_count_steps(content_type: str | None, body: bytes, *, most: int) -> Generator[None, None, int]:
    """Count the pairs of a request, from its headers if they tell; errors as of `pair_steps`."""
    kind = media_type(content_type)
    if kind == NPY:
        return _check(npy_header(body)[0], most)
    if kind == JSON:
        return _check((yield from list_shape(body, "pairs")), most)
    if kind not in ONE_BY_ONE:
        raise UnsupportedMedia(
            f"content type {kind or 'none'!r} holds no pairs",
            hint=f"send {JSON}, {NPY}, {MULTIPART} with two files a pair, or {CSV} with two rows",
        )
    samples = yield from count_steps(content_type, body, most=2 * most)
    if samples % 2:
        raise InvalidInput(
            f"{samples} samples are no pairs", hint="send two files or rows a pair, one after the other"
        )
    return checked_count(samples // 2, most, "pairs")


def sample_marks(samples: NDArray[Any]) -> list[bytes]:
    """Return a name for each sample of (B, *shape): 32 bytes, equal for equal values in every party."""
    named = hashlib.blake2b(repr(samples.shape[1:]).encode(), digest_size=32, person=b"image")
    return digest_each(named, (np.ascontiguousarray(sample).data for sample in samples))


def joint_mark(marks: Iterable[bytes]) -> bytes:
    """Return a name for a set of samples, regardless of their order and repetitions; a single sample keeps
    its own mark."""
    distinct = sorted(set(marks))
    if len(distinct) == 1:
        return distinct[0]
    return hashlib.blake2b(b"".join(distinct), digest_size=32, person=b"images").digest()


def same_person(distances: NDArray[np.float32], threshold: float) -> list[bool]:
    """Whether each distance of (B, 1) is at most ``threshold``; compared in float32, as it is released."""
    within: list[bool] = (distances[:, 0] <= np.float32(threshold)).tolist()
    return within


def _check(shape: tuple[int, ...], most: int) -> int:
    if len(shape) < 3 or shape[1] != 2:
        raise InvalidInput(f"pairs must have shape (B, 2, ...), the sample's own last; these have {shape}")
    return checked_count(shape[0], most, "pairs")
