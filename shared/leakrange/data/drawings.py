"""Drawings with a pen or a finger, brought to the form of the UCI set's digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from leakrange.wire.errors import InvalidInput

__all__ = ["as_counts"]

BITMAP, BLOCK = 32, 4
NARROWEST, WIDEST = 12, 22
"""Columns of the bitmap that a digit takes; the set's digits fill all of its rows."""
INK = 64
"""Grey level from which on a pixel is ink."""
LEAST_INK = 20
"""Fewest inked pixels of a drawing; fewer are a slip of the pen."""
BLUR = 1.0
"""Blur in pixels of the bitmap, which makes strokes as broad as those of the set."""


def as_counts(drawing: NDArray[np.uint8]) -> NDArray[np.int64]:
    """A drawing (H, W), 0 where there is no ink, in the form of those digits: cut out, fitted into a bitmap
    of 32 × 32, and counted in blocks of 4 × 4. Returns (8, 8) of 0..16.

    Raises `InvalidInput` where hardly anything is drawn.
    """
    ink = drawing >= INK
    if ink.sum() < LEAST_INK:
        raise InvalidInput("nothing is drawn, or too little to be a digit", hint="draw one digit, and large")
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    cut = drawing[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    width = min(max(round(cut.shape[1] * BITMAP / cut.shape[0]), NARROWEST), WIDEST)
    page = Image.new("L", (BITMAP, BITMAP))
    page.paste(Image.fromarray(cut).resize((width, BITMAP), Image.Resampling.BOX), ((BITMAP - width) // 2, 0))
    bitmap = np.asarray(page.filter(ImageFilter.GaussianBlur(BLUR))) >= INK
    blocks = bitmap.reshape(BITMAP // BLOCK, BLOCK, BITMAP // BLOCK, BLOCK)
    counts: NDArray[np.int64] = blocks.sum(axis=(1, 3)).astype(np.int64)
    return counts
