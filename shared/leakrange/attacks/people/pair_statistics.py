"""Six statistics of the distances between a person's images."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["STATISTICS", "Statistic", "class_statistics", "distance_statistics"]

Statistic = Literal[
    "mean",
    "median",
    "variance",
    "mean absolute deviation",
    "median absolute deviation",
    "inter-quartile range",
]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)


def distance_statistics(distances: NDArray[np.floating]) -> NDArray[np.float64]:
    """The `STATISTICS` (6,) of distances (q,), q ≥ 1 (FACELEAKS Section 5.2).

    The variance is over q, so that one distance has one, too. The mean absolute deviation is from the mean,
    the median one from the median, unscaled; quartiles are interpolated linearly.
    """
    if distances.ndim != 1 or not len(distances) or not np.isfinite(distances).all():
        raise InvalidInput("statistics need one finite distance or more")
    exact = np.asarray(distances, dtype=np.float64)
    mean, median = exact.mean(), np.median(exact)
    low, high = np.quantile(exact, [0.25, 0.75])
    return np.array(
        [
            mean,
            median,
            exact.var(),
            np.abs(exact - mean).mean(),
            np.median(np.abs(exact - median)),
            high - low,
        ]
    )


def class_statistics(
    distances: NDArray[np.floating], pair_person: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The classes (C,) that have a distance, ascending, and the `STATISTICS` (C, 6) of each.

    ``pair_person`` (q,): the person whose images give each of ``distances`` (q,). Raises `InvalidInput` where
    lengths differ or a distance is not finite.
    """
    if distances.shape != pair_person.shape or distances.ndim != 1 or not len(distances):
        raise InvalidInput(f"distances {distances.shape} and persons {pair_person.shape} do not match")
    order = np.argsort(pair_person, kind="stable")
    classes, starts = np.unique(pair_person[order], return_index=True)
    parts = np.split(distances[order], starts[1:])
    return classes, np.stack([distance_statistics(part) for part in parts])
