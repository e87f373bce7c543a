from __future__ import annotations

import numpy as np

from leakrange.attacks.federation import relative_errors

SAMPLES = np.array([[4.0, 0.0], [0.0, 2.0], [0.0, -1.0]])


def test_errors_are_relative_to_the_guess_and_matched_one_to_one() -> None:
    found = np.array([[0.0, 2.5], [0.0, 2.0], [3.0, 0.0]])
    # the second has two candidates of which it takes the better one; the third is left with a worse one
    np.testing.assert_allclose(relative_errors(SAMPLES, found, np.zeros(2)), [0.25, 0.0, 1.0])
    np.testing.assert_allclose(relative_errors(SAMPLES, found[:1], np.zeros(2)), [1.0, 0.25, 1.0])
    np.testing.assert_allclose(relative_errors(SAMPLES, np.empty((0, 2)), np.zeros(2)), 1.0)
