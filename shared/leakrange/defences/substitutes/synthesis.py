"""Substitutes that are nobody's record: drawn from a distribution of each class of training samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["principal_normal", "synthesised"]

Values = NDArray[np.float64]


def synthesised(
    samples: Values,
    classes: NDArray[np.integer],
    places: NDArray[np.integer],
    rank: int,
    rng: np.random.Generator,
) -> Values:
    """A draw (K, D) for each of K ``places`` of N samples (N, D), with ``classes`` (N,): from the class of
    the sample at that place, see `principal_normal`. Raises as that does."""
    drawn = np.empty((len(places), samples.shape[1]))
    for each in np.unique(classes[places]):
        of_class = classes[places] == each
        drawn[of_class] = principal_normal(samples[classes == each], rank)(int(of_class.sum()), rng)
    return drawn


def principal_normal(samples: Values, rank: int) -> Callable[[int, np.random.Generator], Values]:
    """Draws from the normal distribution of samples (n, D): their mean, their ``rank`` principal components,
    and in all other directions one variance, the mean of the remaining ones.

    It is the maximum-likelihood estimate of probabilistic PCA, with n − 1 in place of n (Tipping and Bishop
    1999, Eqs. 3.7 and 3.8). The rank is lowered to n − 2 and to D − 1, so that the draws lie in no subspace
    that the samples span. Raises `InvalidInput` for fewer than three samples or a single value.
    """
    count, width = samples.shape
    if count < 3 or width < 2:
        raise InvalidInput(
            f"a class of {count} training samples of {width} values has no distribution to draw from",
            hint="leave out 'synthetic', or take classes with more samples",
        )
    mean = samples.mean(axis=0)
    _, singular, axes = np.linalg.svd(samples - mean, full_matrices=False)
    variances = singular**2 / (count - 1)
    kept = min(rank, count - 2, width - 1)
    rest = variances[kept:].sum() / (width - kept)
    beyond = np.sqrt(np.maximum(variances[:kept] - rest, 0.0))

    def draw(number: int, rng: np.random.Generator) -> Values:
        along = rng.standard_normal((number, kept)) * beyond
        drawn: Values = mean + along @ axes[:kept] + np.sqrt(rest) * rng.standard_normal((number, width))
        return drawn

    return draw
