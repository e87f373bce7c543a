"""Which records become substitutes: training samples, or draws from a distribution of each class of them,
which are nobody's record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leakrange.data.splits import shuffled, stream
from leakrange.wire.errors import InvalidInput

__all__ = ["choose", "principal_normal", "synthesised"]


def choose(
    labels: Mapping[str, NDArray[np.int64]], most: int, skew: Mapping[str, Sequence[float]], seed: int
) -> NDArray[np.int64]:
    """The indices of up to ``most`` of N samples, ascending, none twice, drawn by ``seed``.

    labels: (N,) by attribute. ``skew`` gives some attributes other shares of their classes; several of them
    are then independent. Where a class has too few samples for its share, the shares are kept and the
    substitutes are fewer. Raises `InvalidInput` where none are left.
    """
    count = len(next(iter(labels.values())))
    order = shuffled(stream(seed, "substitutes"), count)
    if not skew:
        return np.sort(order[:most])
    cells = np.zeros(count, dtype=np.int64)
    shares = np.ones(1)
    for name, wanted in skew.items():
        cells = cells * len(wanted) + labels[name]
        shares = np.multiply.outer(shares, np.asarray(wanted) / np.sum(wanted)).ravel()
    counts = np.bincount(cells, minlength=len(shares))
    some = shares > 0
    total = min(most, int((counts[some] / shares[some]).min() + 1e-9))
    if not total:
        raise InvalidInput("no training sample of a class is left for its share of the substitutes")
    quota = _rounded(shares * total, counts)
    chosen = [order[cells[order] == cell][:of] for cell, of in enumerate(quota)]
    return np.sort(np.concatenate(chosen))


def _rounded(numbers: NDArray[np.float64], most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers with the same sum, none above ``most``: the largest remainders are rounded up."""
    whole = np.floor(numbers + 1e-9).astype(np.int64)
    left = round(float(numbers.sum())) - int(whole.sum())
    for place in np.argsort(-(numbers - whole), kind="stable"):
        if left > 0 and whole[place] < most[place]:
            whole[place] += 1
            left -= 1
    return whole


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
