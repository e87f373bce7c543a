"""scikit-learn's handwritten digits: real, small and always there."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from leakrange.data.catalogue import Content, GivenSet, datasets
from leakrange.data.columns import Coded
from leakrange.data.samples import Attribute, by_name
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["DIGIT_ATTRIBUTES", "Digits", "as_counts", "slant"]

DIGIT_ATTRIBUTES = by_name(
    Coded("digit", tuple("0123456789"), "the digit written", column="label"),
    Coded("parity", ("even", "odd"), "whether the digit is odd", column="label", into=(0, 1) * 5),
    Coded(
        "large",
        ("0-4", "5-9"),
        "whether the digit is 5 or more",
        column="label",
        into=(0, 0, 0, 0, 0, 1, 1, 1, 1, 1),
    ),
    Coded(
        "loop",
        ("open", "loop"),
        "whether the digit has a closed loop: 0, 4, 6, 8, 9",
        column="label",
        into=(1, 0, 0, 0, 1, 0, 1, 0, 1, 1),
    ),
)
"""Attributes of a handwritten digit, shared by all sets of digits."""
SLANT = Attribute(
    "slant",
    ("forward", "backward"),
    "whether it leans backward, compared with the median hand that wrote the same digit: "
    "a trait of the writer, of which the digit itself tells nothing",
)

BITMAP, BLOCK = 32, 4
NARROWEST, WIDEST = 12, 22
"""Columns of the bitmap that a drawn digit takes; the set's digits fill all of its rows."""
INK = 64
"""Grey level from which on a pixel is ink."""
LEAST_INK = 20
"""Fewest inked pixels of a drawing; fewer are a slip of the pen."""
BLUR = 1.0
"""Blur in pixels of the bitmap, which makes strokes as broad as those of the set."""


@datasets.register("digits")
class Digits(GivenSet):
    """1,797 digits of 8 × 8 pixels and 17 grey levels, shown at 16 × 16."""

    name = "digits"
    bundled = True
    description = "1,797 real handwritten digits, shipped with scikit-learn"
    attributes = MappingProxyType({**DIGIT_ATTRIBUTES, "slant": SLANT})
    spec = SampleSpec.picture(16, 16, 1)
    source = "scikit-learn load_digits: test part of UCI Optical Recognition of Handwritten Digits, CC BY 4.0"
    notes = (
        "1,797 digits of 8 x 8 pixels, enlarged; writers are unknown, one may be on both sides of the split",
    )

    @classmethod
    def available(cls) -> str | None:
        """None where scikit-learn is installed."""
        return None if find_spec("sklearn") else "it comes with scikit-learn: pip install 'leakrange[models]'"

    @classmethod
    def content(cls) -> Content:
        """All 1,797 digits; grey levels 0..16 become 0..255."""
        counts, digits = _records()
        labels = cls.labels({"label": digits})
        return Content(values=_grey(counts), labels={**labels, "slant": slant(counts, digits)})

    @classmethod
    def drawn(cls, drawing: NDArray[np.uint8], digit: int) -> Content:
        """A digit of 8 × 8; its slant is judged among the set's digits of the same kind."""
        counts = as_counts(drawing)
        others, digits = _records()
        leans = slant(np.concatenate([others, counts[None]]), np.append(digits, digit))[-1:]
        labels = cls.labels({"label": np.array([digit])})
        return Content(values=_grey(counts[None]), labels={**labels, "slant": leans})


def slant(ink: NDArray[Any], digit: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels of `SLANT`, int64 (N,): is the shear μ11 / μ02 of the ink (N, H, W) above its digit's median?

    So in every digit one half leans forward and one half backward, whatever the digit's shape.
    """
    y, x = np.mgrid[0 : ink.shape[1], 0 : ink.shape[2]].astype(np.float64)
    mass = ink.sum(axis=(1, 2))
    dy = y - ((ink * y).sum(axis=(1, 2)) / mass)[:, None, None]
    dx = x - ((ink * x).sum(axis=(1, 2)) / mass)[:, None, None]
    shear = (ink * dx * dy).sum(axis=(1, 2)) / (ink * dy * dy).sum(axis=(1, 2))
    labels = np.zeros(len(ink), dtype=np.int64)
    for value in np.unique(digit):
        same = digit == value
        labels[same] = shear[same] > np.median(shear[same])
    return labels


def as_counts(drawing: NDArray[np.uint8]) -> NDArray[np.int64]:
    """A drawing with a pen or a finger (H, W), 0 where there is no ink, in the form of the set's digits: cut
    out, fitted into a bitmap of 32 × 32, and counted in blocks of 4 × 4. Returns (8, 8) of 0..16.

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


def _records() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The counts (1797, 8, 8) and the digits (1797,), as `sklearn.datasets.load_digits` returns them. The
    file is read without it: to import it takes a second, in each process that has samples."""
    package = find_spec("sklearn")
    assert package is not None
    assert package.submodule_search_locations is not None
    file = Path(package.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    records = np.loadtxt(file, delimiter=",")
    return records[:, :-1].reshape(-1, 8, 8), records[:, -1].astype(np.int64)


def _grey(counts: NDArray[Any]) -> NDArray[np.uint8]:
    """Digits (N, 8, 8) of 0..16 as pictures (N, 8, 8, 1) of 0..255."""
    grey: NDArray[np.uint8] = np.round(counts * (255 / 16)).astype(np.uint8)[..., None]
    return grey
