"""How a digit leans: by the definition of a shear, and independent of the digit."""

from __future__ import annotations

import numpy as np

from leakrange.data import load
from leakrange.data.sets.digits import slant
from leakrange.jobs.recipe import DataSpec


def test_a_stroke_that_leans_backward_is_told_from_one_that_leans_forward() -> None:
    backward, upright, forward = np.eye(9), np.zeros((9, 9)), np.fliplr(np.eye(9))
    upright[:, 4] = 1.0
    ink = np.stack([backward, upright, forward])
    assert slant(ink, np.zeros(3, dtype=np.int64)).tolist() == [1, 0, 0]
    # Of strokes of its own kind alone, the one that leans further back is the one above the median.
    assert slant(ink, np.array([0, 1, 1])).tolist() == [0, 1, 0]


def test_the_digit_tells_nothing_of_the_slant() -> None:
    digits = load(DataSpec(name="digits"))
    for attribute in ("digit", "parity", "large", "loop"):
        labels = digits.labels[attribute]
        for value in np.unique(labels):
            assert abs(digits.labels["slant"][labels == value].mean() - 0.5) < 0.01
