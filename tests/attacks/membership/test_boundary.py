"""Walks to a model's border: on models whose border is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.attacks.membership.boundary import BoundaryWalk
from leakrange.wire.samples import SampleSpec

VECTOR = SampleSpec(encoding="vector", shape=(12,), dtype="float32", scale=4.0)


def label_answers(classes: NDArray[np.int64]) -> NDArray[np.float32]:
    """As an API answers that tells the class alone."""
    return np.eye(2, dtype=np.float32)[classes]


class Plane:
    """Says on which side of a plane a sample lies; keeps how many samples it was asked about."""

    def __init__(self, normal: NDArray[np.float64], offset: float = 0.3) -> None:
        self.normal, self.offset, self.asked = normal, offset, 0

    def __call__(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        self.asked += len(samples)
        return label_answers((samples.reshape(len(samples), -1) @ self.normal > self.offset).astype(np.int64))

    def distances(self, samples: NDArray[Any], scale: float) -> NDArray[np.float64]:
        """In units of a net."""
        away = samples.reshape(len(samples), -1) @ self.normal - self.offset
        return np.abs(away) / np.linalg.norm(self.normal) / scale


def test_the_distance_to_a_plane_is_found_out_within_the_queries() -> None:
    draw = np.random.default_rng(1)
    plane = Plane(draw.normal(size=12))
    samples = draw.normal(scale=4.0, size=(30, 12)).astype(np.float32)
    labels = plane(samples).argmax(axis=1)
    labels[:3] = 1 - labels[:3]  # which the model gets wrong
    plane.asked = 0
    errors = {}
    for queries in (60, 400):
        plane.asked = 0
        walk = BoundaryWalk(samples, labels, VECTOR, plane, queries, seed=2)
        distances = walk.distances()
        assert walk.asked.sum() == plane.asked
        assert walk.asked.max() <= queries
        assert walk.asked[:3].tolist() == [1, 1, 1]
        assert distances[:3].tolist() == [0.0, 0.0, 0.0]
        true = plane.distances(samples[3:], 4.0)
        assert (distances[3:] > true * 0.999).all()
        errors[queries] = float(np.median(distances[3:] / true - 1))
    assert errors[400] < 0.1
    assert errors[400] < errors[60] / 2


def test_pictures_of_whole_numbers_are_walked_too() -> None:
    draw = np.random.default_rng(3)
    spec = SampleSpec.picture(6, 6, 1)
    plane = Plane(draw.normal(size=36), offset=40.0)
    pictures = draw.integers(60, 200, (20, 6, 6, 1)).astype(np.uint8)
    walk = BoundaryWalk(pictures, plane(pictures).argmax(axis=1), spec, plane, 300, seed=2)
    ratio = walk.distances() / plane.distances(pictures, 127.5)
    assert np.median(ratio) < 1.5


def test_where_no_sample_has_another_class_noise_finds_one_and_else_nothing_is_claimed() -> None:
    plane = Plane(np.ones(12), offset=9.0)
    samples = np.full((2, 12), 0.5, np.float32)
    [near, _] = BoundaryWalk(samples, plane(samples).argmax(axis=1), VECTOR, plane, 200, seed=2).distances()
    assert plane.distances(samples, 4.0)[0] * 0.999 < near < 2 * plane.distances(samples, 4.0)[0]
    stubborn = BoundaryWalk(samples, np.zeros(2, int), VECTOR, _certain, 50, 2)
    assert np.isinf(stubborn.distances()).all()
    assert stubborn.asked.max() <= 50
    with pytest.raises(ConnectionError):
        BoundaryWalk(samples, np.zeros(2, int), VECTOR, _down, 50, 2).distances()


def _certain(asked: NDArray[Any]) -> NDArray[np.float32]:
    return label_answers(np.zeros(len(asked), np.int64))


def _down(asked: NDArray[Any]) -> NDArray[np.float32]:
    raise ConnectionError(len(asked))
