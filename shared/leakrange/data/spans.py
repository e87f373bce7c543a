"""The samples that a span names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Samples, load
from leakrange.jobs.samples import Span
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import encodings

__all__ = ["samples_of", "span_of"]


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


def samples_of(span: Span) -> NDArray[Any]:
    """The samples (B, *shape) that a span names, in its variant. Each variant of a sample is the same in
    every span. Raises `InvalidInput` as `span_of` does."""
    data, chosen = span_of(span)
    values = data.values[chosen]
    if not span.variant:
        return values
    encoding = encodings[data.spec.encoding]
    draws = [np.random.default_rng([span.variant, place]) for place in chosen]
    variants = [
        encoding.variant(value, data.spec, span.variant, draw)
        for value, draw in zip(values, draws, strict=True)
    ]
    return np.stack(variants)
