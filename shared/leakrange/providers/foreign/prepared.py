"""From samples to what a model file takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.foreign.card import FileCard
from leakrange.wire.samples import encodings

__all__ = ["prepared", "probes", "shape_taken"]


def prepared(samples: NDArray[Any], card: FileCard) -> NDArray[np.float32]:
    """Scale samples (B, *shape), and put their axes into the order of the card's layout: float32 (B, ...)."""
    scale, offset = (np.asarray(numbers, np.float32) for numbers in (card.input.scale, card.input.offset))
    values = samples.astype(np.float32) / scale + offset
    if card.layout == "channels-first":
        values = values.transpose(encodings[card.input.encoding].layout)
    elif card.layout == "flat":
        values = values.reshape(len(values), -1)
    return np.ascontiguousarray(values, dtype=np.float32)


def shape_taken(card: FileCard) -> tuple[int, ...]:
    """The shape of one sample as the file takes it."""
    shape = card.input.shape
    if card.layout == "flat":
        return (math.prod(shape),)
    if card.layout == "channels-first":
        return tuple(shape[axis - 1] for axis in encodings[card.input.encoding].layout[1:])
    return shape


def probes(card: FileCard, count: int) -> NDArray[Any]:
    """So many samples of noise, always the same: pixels of any brightness, else numbers that become standard
    normal ones when they are scaled."""
    generator = np.random.default_rng(0)
    shape = (count, *card.input.shape)
    if card.input.dtype == "uint8":
        return generator.integers(0, 256, shape).astype(np.uint8)
    scaled: NDArray[np.float64] = generator.normal(size=shape)
    values: NDArray[np.float32] = (
        (scaled - np.asarray(card.input.offset)) * np.asarray(card.input.scale)
    ).astype(np.float32)
    return values
