"""Attributes of a handwritten digit, shared by all sets of digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Attribute, by_name

__all__ = ["DIGIT_ATTRIBUTES", "SLANT", "digit_labels", "slant"]

DIGIT_ATTRIBUTES = by_name(
    Attribute("digit", tuple("0123456789"), "the digit written"),
    Attribute("parity", ("even", "odd"), "whether the digit is odd"),
    Attribute("large", ("0-4", "5-9"), "whether the digit is 5 or more"),
    Attribute("loop", ("open", "loop"), "whether the digit has a closed loop: 0, 4, 6, 8, 9"),
)

SLANT = Attribute(
    "slant",
    ("forward", "backward"),
    "whether it leans backward, compared with the median hand that wrote the same digit: "
    "a trait of the writer, of which the digit itself tells nothing",
)


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


def digit_labels(digit: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Labels of all digit attributes, int64 (N,) each, from the digits 0..9 (N,)."""
    digit = digit.astype(np.int64)
    return {
        "digit": digit,
        "parity": digit % 2,
        "large": (digit >= 5).astype(np.int64),
        "loop": np.isin(digit, (0, 4, 6, 8, 9)).astype(np.int64),
    }
