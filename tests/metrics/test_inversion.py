"""Drawings of people, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.metrics import measured
from leakrange.metrics.inversion import DrawnPeople


def test_shares_of_drawings_that_each_judge_sees_right() -> None:
    wanted = np.array([4, 2, 7, 1])
    outcome = DrawnPeople(
        wanted,
        drawn={
            "evaluator": np.array([4, 2, 7, 0]),
            "neighbour": np.array([4, 9, 9, 1]),
            "pixels": np.array([0, 2, 0, 0]),
        },
        unasked={
            "evaluator": np.array([4, 4, 7, 9, 9]),
            "neighbour": np.array([9, 9, 9, 9, 9]),
            "pixels": np.array([1, 2, 4, 7, 7]),
        },
        shown={name: np.array(seen) for name, seen in _REAL.items()},
        real=np.array([3, 5]),
    )
    figures = {name: estimate.value for name, estimate in measured(outcome).items()}
    assert figures == pytest.approx(
        {
            "drawn_evaluator": 3 / 4,
            "drawn_neighbour": 2 / 4,
            "drawn_pixels": 1 / 4,
            "drawn_evaluator_unasked": 3 / 5 / 4,
            "drawn_neighbour_unasked": 0.0,
            "drawn_pixels_unasked": 1 / 4,
            "drawn_evaluator_real": 1.0,
            "drawn_neighbour_real": 0.5,
            "drawn_pixels_real": 0.0,
            "drawn_evaluator_alone": 2 / 4,
        }
    )


_REAL = {"evaluator": [3, 5], "neighbour": [3, 4], "pixels": [0, 1]}
