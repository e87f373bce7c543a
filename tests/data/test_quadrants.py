"""Points with two independent attributes: the geometry on which the paper's trade-off rests."""

import numpy as np
import pytest

from leakrange.data import Samples, datasets, load
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import InvalidInput


@pytest.fixture(scope="module")
def points() -> Samples:
    return load(DataSpec(name="quadrants"))


def coordinates(points: Samples) -> np.ndarray:
    """As a net sees them."""
    return points.values / 127.5 - 1.0


def test_same_bytes_on_every_machine() -> None:
    # Recorded once; a change to the drawing changes it, and with it every model trained on these points.
    expected = "f328102770c595b2bb44028f1acb544f388c9bef01d4ecbc173530ff1bc13c6c"
    assert load(DataSpec(name="quadrants", count=100, seed=7)).fingerprint == expected


def test_a_sample_is_a_vector_of_two_coordinates(points: Samples) -> None:
    assert points.values.shape == (20_000, 2)
    assert len(load(DataSpec(name="quadrants", count=123))) == 123
    assert datasets["quadrants"].procedural()


def test_each_attribute_is_the_sign_of_a_coordinate_with_a_margin(points: Samples) -> None:
    x = coordinates(points)
    assert ((x > 0) == np.stack([points.labels["y"], points.labels["s"]], axis=1)).all()
    assert 0.05 < np.abs(x).min() < 0.052
    assert np.abs(x).max() == 1.0


def test_the_attributes_are_independent_and_even() -> None:
    for count in (20_000, 1001):
        found = load(DataSpec(name="quadrants", count=count)).labels
        cells = np.bincount(2 * found["y"] + found["s"], minlength=4)
        assert cells.max() - cells.min() <= 1


def test_the_square_is_filled_evenly(points: Samples) -> None:
    outward = np.abs(coordinates(points))
    span = (1.0 - 0.05) / 5
    bins = np.minimum(((outward - 0.05) / span).astype(int), 4)
    cells = np.bincount(5 * bins[:, 0] + bins[:, 1], minlength=25)
    # 5 divides the 122 levels of a side unevenly: cells hold 24 or 25 of them each way
    assert np.abs(cells / len(points) - 1 / 25).max() < 0.006
    assert abs(np.corrcoef(outward.T)[0, 1]) < 0.03


def test_the_seed_draws_other_points() -> None:
    one, two = (load(DataSpec(name="quadrants", count=500, seed=seed)) for seed in (0, 1))
    assert (one.values != two.values).any()
    assert one.fingerprint != two.fingerprint


def test_no_point_comes_twice_before_all_are_used_up(points: Samples) -> None:
    assert len(np.unique(points.values, axis=0)) == len(points)


def test_equal_points_are_never_on_both_sides_of_a_split() -> None:
    many = load(DataSpec(name="quadrants", count=60_000))
    _, point = np.unique(many.values, axis=0, return_inverse=True)
    twice = np.flatnonzero(np.bincount(point) > 1)
    assert len(twice) == 60_000 - 4 * 122**2
    order = np.argsort(point, kind="stable")
    second = order[np.searchsorted(point[order], twice) + 1]
    first = order[np.searchsorted(point[order], twice)]
    assert (many.split[first] == many.split[second]).all()
    assert (many.group[first] == many.group[second]).all()


def test_a_size_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a vector has no size"):
        load(DataSpec(name="quadrants", size=16))


@pytest.mark.parametrize("degrees", [1, 10, 30, 45, 60, 80, 89])
def test_any_line_through_the_middle_pays_honesty_for_curiosity_one_to_one(
    degrees: int, points: Samples
) -> None:
    angle = np.radians(degrees)
    answer = coordinates(points) @ [np.cos(angle), np.sin(angle)] > 0
    honesty = np.mean(answer == points.labels["y"])
    curiosity = np.mean(answer == points.labels["s"])
    assert honesty + curiosity == pytest.approx(1.5, abs=1e-9)
    if degrees <= 45:
        # the wedge between the line and the axis, tan(θ) / 4 of the square but for the gap
        assert honesty == pytest.approx(1 - np.tan(angle) / 4, abs=0.03)


def test_a_line_beside_the_middle_does_worse(points: Samples) -> None:
    answer = coordinates(points) @ [1.0, 1.0] > 0.8
    honesty, curiosity = (np.mean(answer == points.labels[name]) for name in ("y", "s"))
    assert honesty + curiosity < 1.4
