"""Choosing fewer points that look like all of them, so that a chart of 100,000 stays smooth.

Each function gives indices into its points in rising order; as many as there are where that is few enough.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["of_cloud", "of_line"]

Indices = NDArray[np.intp]
CORNERS = 4
"""The points that lie furthest to each side."""


def of_line(x: ArrayLike, y: ArrayLike, most: int) -> Indices:
    """At most ``most`` (4 or more) of the points (N,) of a line, in their order: its ends, its lowest and its
    highest point, and of each stretch the one that makes the largest triangle with its neighbours
    (largest-triangle-three-buckets, Steinarsson 2013). Raises `ValueError` for coordinates that are not
    finite, or not of one length."""
    points, most = _points(x, y), _enough(most)
    if len(points) <= most:
        return np.arange(len(points))
    extremes = [int(points[:, 1].argmin()), int(points[:, 1].argmax())]
    return np.unique([*_triangles(points, most - 2), *extremes])


def _triangles(points: NDArray[np.float64], most: int) -> list[int]:
    last = len(points) - 1
    chosen = [0]
    edges = np.linspace(1, last, max(most - 2, 0) + 1).astype(int)
    for place, (start, stop) in enumerate(pairwise(edges)):
        after = edges[place + 2] if place + 2 < len(edges) else last + 1
        onward = points[stop:after].mean(axis=0)
        back, stretch = points[chosen[-1]], points[start:stop]
        area = (back[0] - onward[0]) * (stretch[:, 1] - back[1])
        area -= (back[0] - stretch[:, 0]) * (onward[1] - back[1])
        chosen.append(int(start + np.abs(area).argmax()))
    return [*chosen, last]


def of_cloud(x: ArrayLike, y: ArrayLike, most: int) -> Indices:
    """At most ``most`` (4 or more) of the points (N,) of a cloud, denser where the cloud is: from each cell
    of a grid the same share, but one at least, and the outermost points. Raises as `of_line`."""
    points, most = _points(x, y), _enough(most)
    if len(points) <= most:
        return np.arange(len(points))
    corners = [int(which(points[:, axis])) for axis in (0, 1) for which in (np.argmin, np.argmax)]
    cells = _cells(points, max(1, int(np.sqrt((most - CORNERS) / 4))))
    order = np.argsort(cells, kind="stable")
    _, starts, sizes = np.unique(cells[order], return_index=True, return_counts=True)
    room = most - CORNERS - len(starts)
    if room < 0:
        return np.unique(corners)
    quotas = 1 + ((sizes - 1) * room) // max(1, len(points) - len(starts))
    within = np.repeat(np.cumsum(quotas) - quotas, quotas)
    place = np.arange(quotas.sum()) - within
    chosen = order[np.repeat(starts, quotas) + place * np.repeat(sizes, quotas) // np.repeat(quotas, quotas)]
    return np.unique(np.concatenate([chosen, corners]))


def _cells(points: NDArray[np.float64], across: int) -> NDArray[np.intp]:
    """The number of each point's cell in a grid of ``across`` × ``across``."""
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scaled = (points - low) / np.where(span > 0, span, 1.0)
    column, row = np.minimum((scaled * across).astype(np.intp), across - 1).T
    return np.asarray(row * across + column)


def _points(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    columns = [np.asarray(each, dtype=np.float64) for each in (x, y)]
    if columns[0].shape != columns[1].shape or columns[0].ndim != 1:
        raise ValueError(f"x {columns[0].shape} and y {columns[1].shape} must be vectors of one length")
    points = np.stack(columns, axis=1)
    if not np.isfinite(points).all():
        raise ValueError("points must be finite")
    return points


def _enough(most: int) -> int:
    if most < CORNERS:
        raise ValueError(f"at least {CORNERS} points have to be kept, not {most}")
    return most
