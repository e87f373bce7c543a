"""Planes keep neighbours together, and are not made of what has none."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from leakrange.metrics.embedding import MOST, embedded


def clusters(count: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, count)
    return (rng.normal(size=(count, 10)) + 8.0 * np.eye(10)[group]).astype(np.float32), group


def test_neighbours_stay_neighbours() -> None:
    values, group = clusters()
    plane = embedded(values, seed=0)
    assert plane is not None
    assert (plane.shape, plane.dtype) == ((90, 2), np.float32)
    assert KNeighborsClassifier(3).fit(plane[::2], group[::2]).score(plane[1::2], group[1::2]) == 1.0
    mixed = embedded(np.random.default_rng(2).normal(size=(90, 10)), seed=0)
    assert mixed is not None
    assert KNeighborsClassifier(3).fit(mixed[::2], group[::2]).score(mixed[1::2], group[1::2]) < 0.7


def test_the_same_values_give_the_same_plane_whatever_their_shape() -> None:
    values, _ = clusters(40)
    first, again = embedded(values, seed=3), embedded(values.reshape(40, 5, 2), seed=3)
    assert first is not None
    assert again is not None
    np.testing.assert_array_equal(first, again)


def test_a_single_column_has_a_plane() -> None:
    plane = embedded(np.arange(30.0)[:, None], seed=0)
    assert plane is not None
    assert np.isfinite(plane).all()


def test_what_has_no_neighbours_has_no_plane() -> None:
    assert embedded(np.zeros((19, 3)), seed=0) is None
    assert embedded(np.random.default_rng(0).normal(size=(MOST + 1, 2)), seed=0) is None
    assert embedded(np.ones((50, 3)), seed=0) is None
    assert embedded(np.full((50, 3), np.nan), seed=0) is None
