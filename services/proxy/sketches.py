"""Sketches of samples: samples that look alike have sketches in which few bits differ."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BITS", "MOST_SKETCHED", "sketches"]

BITS = 64
SIDE = 16
"""Number of cells on each axis of a sample; finer values are averaged."""
FEWEST_VALUES = 16
"""Size below which only equal samples look alike: a row of a table has no coarse shape."""
MOST_SKETCHED = 256
"""Number of samples of a larger batch, drawn at random, that are sketched."""


def sketches(samples: NDArray[Any], secret: bytes) -> list[str]:
    """The sketch (64 bits, hex) of each of the samples (B, ...), or of `MOST_SKETCHED` of them.

    SimHash (Charikar 2002): the signs of random projections, here of the differences between neighbouring
    cells of the sample in a coarse grid; a picture's channels are averaged. ``secret`` draws the projections:
    without it nobody can tell which samples collide. All proxies of a range share it.
    """
    if len(samples) > MOST_SKETCHED:
        samples = samples[np.random.default_rng().choice(len(samples), MOST_SKETCHED, replace=False)]
    if samples[0].size < FEWEST_VALUES:
        exact = (hashlib.blake2b(sample.tobytes(), key=secret[:64], digest_size=8) for sample in samples)
        return [each.hexdigest() for each in exact]
    grid = samples.astype(np.float32)
    if grid.ndim > 3:
        grid = grid.mean(axis=3)
    grid = grid.reshape(len(grid), grid.shape[1], -1)
    for axis in (1, 2):
        grid = _coarse(grid, axis, SIDE if grid.shape[2] > 1 else SIDE * SIDE)
    steps = [np.diff(grid, axis=axis).reshape(len(grid), -1) for axis in (1, 2)]
    differences = np.concatenate(steps, axis=1)
    bits = differences @ _projections(differences.shape[1], secret) > 0
    return [row.tobytes().hex() for row in np.packbits(bits, axis=1)]


def _coarse(grid: NDArray[np.float32], axis: int, most: int) -> NDArray[np.float32]:
    """Averages of neighbours, so that at most ``most`` cells are left on the axis."""
    size = grid.shape[axis]
    if size <= most:
        return grid
    begins = np.arange(most) * size // most
    widths = np.diff(begins, append=size).astype(np.float32)
    shape = [1, 1, 1]
    shape[axis] = most
    averages: NDArray[np.float32] = np.add.reduceat(grid, begins, axis=axis) / widths.reshape(shape)
    return averages


@lru_cache(maxsize=8)
def _projections(values: int, secret: bytes) -> NDArray[np.float32]:
    seed = hashlib.blake2b(secret, digest_size=32, person=b"sketches").digest()
    return np.random.default_rng(list(seed)).standard_normal((values, BITS), dtype=np.float32)
