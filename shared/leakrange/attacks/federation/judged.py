"""How near reconstructions come to a device's samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["relative_errors"]


def relative_errors(
    samples: NDArray[np.floating], drawn: NDArray[np.floating], guess: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The distance of each sample (B, N) from its matched reconstruction, relative to its distance from the
    ``guess`` (N,), such as the mean of a population: 0 is exact, 1 is what anybody can guess.

    Reconstructions ``drawn`` (M, N) are matched one to one, so that distances together are least. A sample
    without a reconstruction, or nearer to the guess than to it, has 1.
    """
    from scipy.optimize import linear_sum_assignment

    guessed = np.linalg.norm(samples - guess, axis=1)
    errors = np.ones(len(samples))
    if len(drawn):
        apart = np.linalg.norm(samples[:, None] - drawn[None], axis=2) / np.maximum(guessed[:, None], 1e-12)
        rows, columns = linear_sum_assignment(np.minimum(apart, 1.0))
        errors[rows] = np.minimum(apart[rows, columns], 1.0)
    return errors
