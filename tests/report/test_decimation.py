"""Thinned lines and clouds keep what is looked at: ends, extremes, order, and where points lie densely."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leakrange.report.charts.axis import Axis
from leakrange.report.charts.decimation import of_cloud, of_line
from leakrange.report.charts.drawing import lines, picture, points

FINITE = st.floats(-1e6, 1e6)
POINTS = st.integers(1, 400).flatmap(
    lambda n: st.tuples(arrays(np.float64, n, elements=FINITE), arrays(np.float64, n, elements=FINITE))
)


@given(POINTS, st.integers(4, 60))
def test_a_line_keeps_its_ends_its_extremes_and_its_order(
    found: tuple[np.ndarray, np.ndarray], most: int
) -> None:
    _, y = found
    x = np.arange(len(y), dtype=np.float64)
    kept = of_line(x, y, most)
    assert len(kept) == len(y) or len(kept) <= most
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (0, len(y) - 1)
    assert (y[kept].min(), y[kept].max()) == (y.min(), y.max())


@given(POINTS, st.integers(4, 60))
def test_a_cloud_keeps_its_outermost_points_and_no_more_than_asked(
    found: tuple[np.ndarray, np.ndarray], most: int
) -> None:
    x, y = found
    kept = of_cloud(x, y, most)
    assert len(kept) == len(y) or len(kept) <= most
    assert (np.diff(kept) > 0).all()
    for axis in (x, y):
        assert (axis[kept].min(), axis[kept].max()) == (axis.min(), axis.max())


def test_a_spike_in_a_long_line_is_kept_where_every_tenth_point_would_lose_it() -> None:
    x = np.arange(100_000.0)
    y = np.sin(x / 9000)
    y[54_321] = 0.4  # no extreme of the whole, but of its stretch
    kept = of_line(x, y, 1000)
    assert 54_321 in kept
    drawn = np.interp(x, x[kept], y[kept])
    assert np.abs(drawn - y)[np.abs(x - 54_321) > 300].max() < 0.005


def test_a_cloud_is_as_dense_as_it_was_and_keeps_who_stands_alone() -> None:
    rng = np.random.default_rng(3)
    dense, sparse = rng.normal(0, 0.3, (90_000, 2)), rng.normal(5, 0.3, (9_999, 2))
    alone = np.array([[2.5, -0.2]])  # within the range of both axes
    cloud = np.concatenate([dense, sparse, alone])
    kept = of_cloud(cloud[:, 0], cloud[:, 1], 4000)
    assert 3000 < len(kept) <= 4000
    assert len(cloud) - 1 in kept
    assert (kept < 90_000).mean() == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("make", [of_line, of_cloud])
def test_what_cannot_be_thinned_is_refused(make: type) -> None:
    with pytest.raises(ValueError, match="finite"):
        make([0.0, np.nan], [1.0, 2.0], 10)
    with pytest.raises(ValueError, match="one length"):
        make([0.0], [1.0, 2.0], 10)
    with pytest.raises(ValueError, match="at least 4"):
        make([0.0], [1.0], 3)


def test_a_chart_of_many_points_draws_some_says_so_and_has_all_as_data() -> None:
    x, y = Axis("query", ends=(1, 1e5), log=True), Axis("score", ends=(0, 1))
    rng = np.random.default_rng(5)
    rows = [
        {"x": place, "y": value, "line": "ab"[place % 2], "colour": 1, "tip": "a"}
        for place, value in enumerate(rng.uniform(size=100_000).tolist(), start=1)
    ]
    cloud = picture("t", "l", [points(rows, x, y)], note="seed 1")
    line = picture("t", "l", [lines(rows, x, y)])
    for drawn in (cloud, line):
        [layer] = drawn.specification["layer"]
        shown = layer["data"]["values"]
        assert 2000 < len(shown) <= 4000
        assert f"{len(shown):,} of 100,000 points are drawn, the table has all" in drawn.note
        assert len(drawn.table.rows) == 100_000
        assert {row["x"] for row in shown} >= {1, 100_000}
    assert cloud.note.startswith("seed 1; ")
    assert {row["line"] for row in line.specification["layer"][0]["data"]["values"]} == {"a", "b"}
