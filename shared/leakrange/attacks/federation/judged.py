"""How near reconstructions come to a device's samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["relative_errors"]


def relative_errors(
    samples: NDArray[np.floating], found: NDArray[np.floating], guess: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Of each sample (B, N) its distance from the reconstruction that is matched with it, relative to that
    from the ``guess`` (N,), such as the mean of a population: 0 is exact, 1 what anybody can guess.

    Reconstructions (M, N) are matched one to one, so that distances together are least. A sample without
    one, or nearer to the guess than to it, has 1.
    """
    from scipy.optimize import linear_sum_assignment

    guessed = np.linalg.norm(samples - guess, axis=1)
    errors = np.ones(len(samples))
    if len(found):
        apart = np.linalg.norm(samples[:, None] - found[None], axis=2) / np.maximum(guessed[:, None], 1e-12)
        rows, columns = linear_sum_assignment(np.minimum(apart, 1.0))
        errors[rows] = np.minimum(apart[rows, columns], 1.0)
    return errors
