"""Attributes of a handwritten digit, shared by all sets of digits."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.imageset import Attribute

__all__ = ["DIGIT_ATTRIBUTES", "digit_labels"]

DIGIT_ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "digit": Attribute("digit", tuple("0123456789"), "the digit written"),
        "parity": Attribute("parity", ("even", "odd"), "whether the digit is odd"),
        "large": Attribute("large", ("0-4", "5-9"), "whether the digit is 5 or more"),
        "loop": Attribute("loop", ("open", "loop"), "whether the digit has a closed loop: 0, 4, 6, 8, 9"),
    }
)


def digit_labels(digit: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Labels of all digit attributes, int64 (N,) each, from the digits 0..9 (N,)."""
    digit = digit.astype(np.int64)
    return {
        "digit": digit,
        "parity": digit % 2,
        "large": (digit >= 5).astype(np.int64),
        "loop": np.isin(digit, (0, 4, 6, 8, 9)).astype(np.int64),
    }
