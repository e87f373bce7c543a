"""Joins stored releases from their chunks and draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.store.files import FileStore, get_array
from leakrange.wire.errors import InvalidInput

__all__ = ["joined"]


def joined(store: FileStore, chunks: list[list[str]]) -> NDArray[np.float32]:
    """Chunks in order, each the mean of its draws: float32 (samples, ...). Raises `NotFound` for a missing
    one, `InvalidInput` for such as do not fit together."""
    parts = []
    for draws in chunks:
        arrays = [get_array(store, f"{identity}.npy") for identity in draws]
        if not arrays or len({array.shape for array in arrays}) != 1:
            raise InvalidInput("the draws of a chunk must be at least one, and of one shape")
        parts.append(np.mean(arrays, axis=0, dtype=np.float64).astype(np.float32))
    if len({part.shape[1:] for part in parts}) != 1:
        raise InvalidInput("the chunks of a release must be at least one, and of one shape")
    return np.concatenate(parts)
