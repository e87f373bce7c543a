"""The samples that a span names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Samples, load
from leakrange.jobs.samples import Span
from leakrange.wire.errors import InvalidInput

__all__ = ["span_of"]


def span_of(span: Span) -> tuple[Samples, NDArray[np.int64]]:
    """The data set, and the indices in it of the span's samples. Raises `InvalidInput` for a span beyond its
    split."""
    data = load(span.data)
    indices = data.where(span.split)
    if not span.start < span.stop <= len(indices):
        raise InvalidInput(
            f"samples {span.start} to {span.stop} of {span.data.name!r}: its split {span.split!r} has "
            f"{len(indices)}"
        )
    return data, indices[span.start : span.stop]
