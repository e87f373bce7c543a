"""Kinds of release, and the decoding of uploads from edge clients."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import UnsupportedMedia
from leakrange.wire.numbers import read_list
from leakrange.wire.tensors import JSON, NPY, media_type, npy_view, release_array

__all__ = ["ReleaseKind", "upload_steps"]

ReleaseKind = Literal["logits", "softmax", "features", "score", "sample"]

MAX_JSON: Final = 1_048_576
"""Numbers of an upload in JSON; npy holds more."""


def upload_steps(
    content_type: str | None, named: str | None, body: bytes, *, max_samples: int
) -> Generator[None, None, tuple[str | None, NDArray[np.float32]]]:
    """Read the kind and the values (samples, ...) of an upload, a step at a time.

    An npy body has its kind in a header, ``named``; JSON is ``{"release": ..., "values": [...]}``. The kind
    is not checked here.

    Raises `UnsupportedMedia`, `MalformedBody`, `BodyTooLarge` or `InvalidInput`.
    """
    kind = media_type(content_type)
    if kind == NPY:
        values = npy_view(body)
    elif kind == JSON:
        values, named = yield from read_list(
            body, "values", _as_floats, dtype=np.float32, text="release", most=MAX_JSON
        )
    else:
        raise UnsupportedMedia(
            f"content type {kind or 'none'!r} holds no outputs", hint=f"send {JSON} or {NPY}"
        )
    return named, release_array(values, max_samples=max_samples)


def _as_floats(numbers: NDArray[Any], into: NDArray[Any]) -> None:
    with np.errstate(over="ignore"):  # infinity is refused afterwards
        into[:] = numbers
