"""The samples that a span names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data import POOL, Samples, datasets, load
from leakrange.data.splits import draw_members
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import encodings

__all__ = ["Crafted", "members_of", "samples_of", "span_of"]

Crafted = Callable[[str], NDArray[Any]]
"""The crafted samples (N, *shape) of a pool by the identity of their job. Raises `NotFound` where they are
not stored."""


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


def samples_of(span: Span, crafted: Crafted | None = None) -> NDArray[Any]:
    """The samples (B, *shape) that a span names, in its variant, or the ``crafted`` ones in their place. Each
    variant of a sample is the same in every span, and so is each that is drawn, for which no data set is
    loaded. Raises `InvalidInput` as `span_of` does, and for crafted samples where there are none to read."""
    if span.split == "drawn":
        spec = datasets[span.data.name].sample(span.data)
        seeds = ([span.data.seed, place] for place in range(span.start, span.stop))
        return np.stack([encodings[spec.encoding].drawn(spec, np.random.default_rng(each)) for each in seeds])
    data, chosen = span_of(span)
    if span.crafted:
        if crafted is None:
            raise InvalidInput(
                "samples that were crafted for an attack are read by a range's fleet alone",
                hint="run the scenario in a range: leakrange up, then leakrange run",
            )
        return crafted(span.crafted)[span.start : span.stop]
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


def members_of(span: Span, data: Samples, trained_on: Sequence[DataSpec]) -> NDArray[np.bool_]:
    """Which records of ``span``, a part of the pool of ``data``, each of K models was trained on (K, N), by
    what they were ``trained_on``. Members are drawn anew from the pool, which all of them share: to load the
    set for each would take longer than an attack. Raises `InvalidInput` for parts of another pool."""
    group = data.group[data.where(POOL)]
    members = np.empty((len(trained_on), span.stop - span.start), dtype=bool)
    for row, spec in zip(members, trained_on, strict=True):
        subset = spec.subset
        if subset is None or spec.of_everyone() != span.data.of_everyone():
            raise InvalidInput("a shadow was trained on a part of another pool")
        row[:] = draw_members(group, subset)[span.start : span.stop]
    return members
