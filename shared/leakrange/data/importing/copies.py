"""Near-copies among pictures: which of them are one picture, saved again with losses or scaled.

Pictures are compared in grey at 16 x 16 pixels, and in colour, which JPEG keeps less well, at 4 x 4. Two are
near-copies where the root mean square of either difference is at most a tenth of the larger contrast of both,
`NEAR`; a copy of a copy belongs to them. Mirrored, cut and recoloured pictures are not found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

__all__ = ["near_copies", "reduced"]

SIDE, COARSE = 16, 4
"""Pixels a side of a picture in grey, and in colour."""
NEAR = 0.1
LEAST_CONTRAST = 8.0
"""Grey levels. The noise of JPEG does not shrink with a picture's contrast."""
ROWS, COLUMNS = 512, 8192
"""Pictures that are compared at once."""
SLACK = 0.1
"""What rounding may do to the sum of squared differences of colours."""
PAIRS = 16_384
"""Pairs that are compared in grey at once."""

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]


def reduced(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What is compared of a picture (H, W, C) of one or three channels: grey levels and colours, uint8
    (256 + 16 * C,)."""
    colours = Image.fromarray(picture[..., 0] if picture.shape[2] == 1 else picture)
    grey = colours.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    coarse = colours.resize((COARSE, COARSE), Image.Resampling.BOX)
    return np.concatenate([np.asarray(each, dtype=np.uint8).reshape(-1) for each in (grey, coarse)])


def near_copies(reductions: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The groups of pictures that are near-copies, int64 (N,), from what `reduced` gave of each, (N, D)."""
    grey, colours = np.split(reductions, [SIDE * SIDE], axis=1)
    contrast = np.array([max(each.std(), LEAST_CONTRAST) for each in grey], dtype=np.float32)
    groups = _Groups(len(grey))
    for rows, columns in _candidates(colours.astype(np.float32), contrast):
        while len(rows):
            first, second = rows[:PAIRS], columns[:PAIRS]
            most = (NEAR * np.maximum(contrast[first], contrast[second])) ** 2
            # Exactly, for the candidates' rounding is the machine's, and the split must be the same on all.
            near = (_apart(grey, first, second) <= most) & (_apart(colours, first, second) <= most)
            groups.join(first[near], second[near])
            other = groups.of[rows[PAIRS:]] != groups.of[columns[PAIRS:]]
            rows, columns = rows[PAIRS:][other], columns[PAIRS:][other]
    return groups.of


def _apart(
    values: NDArray[np.uint8], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The mean square of the difference of each two, (pairs,)."""
    apart: NDArray[np.float32] = np.square(values[first].astype(np.float32) - values[second]).mean(axis=1)
    return apart


class _Groups:
    """A partition. of: int64 (N,), the lowest number in each one's group."""

    def __init__(self, count: int) -> None:
        self.of = np.arange(count)

    def join(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Make one group of the groups of each two."""
        while (different := self.of[first] != self.of[second]).any():
            ends = self.of[first[different]], self.of[second[different]]
            np.minimum.at(self.of, np.maximum(*ends), np.minimum(*ends))
            while ((above := self.of[self.of]) != self.of).any():
                self.of = above


def _candidates(colours: NDArray[np.float32], contrast: NDArray[np.float32]) -> Iterator[Pair]:
    """Pairs that are alike in colours (N, D), block by block. Two pictures differ in grey at least as their
    contrasts do, so only those of one band of contrast and of the next are compared; and in colours at least
    as they do along one axis, so only those that are close to each other there."""
    colours = colours - colours.mean(axis=0)  # or float32 would lose differences in large squares
    along = colours @ np.linalg.eigh(colours.T @ colours)[1][:, -1]
    band = np.floor(np.log(contrast) / -np.log(1 - NEAR)).astype(np.int64)
    for number in np.unique(band):
        rows = _sorted(np.flatnonzero(band == number), along)
        columns = _sorted(np.flatnonzero((band == number) | (band == number + 1)), along)
        farthest = 1.001 * NEAR * contrast[columns].max() * np.sqrt(colours.shape[1])
        for begin in range(0, len(rows), ROWS):
            block = rows[begin : begin + ROWS]
            ends = np.searchsorted(along[columns], along[block][[0, -1]] + (-farthest, farthest))
            for left in range(ends[0], ends[1], COLUMNS):
                beside = columns[left : min(left + COLUMNS, ends[1])]
                first, second = np.nonzero(_closeness(colours, contrast, block, beside) <= SLACK)
                yield block[first], beside[second]


def _sorted(chosen: NDArray[np.int64], along: NDArray[np.float32]) -> NDArray[np.int64]:
    return chosen[np.argsort(along[chosen], kind="stable")]


def _closeness(
    colours: NDArray[np.float32],
    contrast: NDArray[np.float32],
    block: NDArray[np.int64],
    beside: NDArray[np.int64],
) -> NDArray[np.float32]:
    """The squared difference of each two pictures' colours, less what it may be by the second one's contrast,
    (rows, columns), in one product."""
    one, other = colours[block], colours[beside]
    allowed = (NEAR * contrast[beside]) ** 2 * colours.shape[1]
    ones = np.ones((len(block), 1), np.float32), np.ones((len(beside), 1), np.float32)
    left = np.concatenate([-2 * one, np.square(one).sum(axis=1, keepdims=True), ones[0]], axis=1)
    right = np.concatenate([other, ones[1], (np.square(other).sum(axis=1) - allowed)[:, None]], axis=1)
    closeness: NDArray[np.float32] = left @ right.T
    return closeness
