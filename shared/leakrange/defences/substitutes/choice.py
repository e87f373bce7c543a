"""The choice of training samples that become substitutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leakrange.data.splits import shuffled, stream
from leakrange.wire.errors import InvalidInput

__all__ = ["choose"]


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
