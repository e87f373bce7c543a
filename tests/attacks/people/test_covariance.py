"""Covariances of classes and the score S, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from leakrange.attacks.people.classes import equal_images
from leakrange.attacks.people.classifiers import Projection
from leakrange.attacks.people.covariance import (
    class_covariance,
    class_covariances,
    covariance_score,
    upper_triangle,
)
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput
from tests.attacks.people.worlds import world

SIGMA = np.array([[4.0, -2.0, 0.0], [-2.0, 1.0, 3.0], [0.0, 3.0, 2.0]])


def test_a_covariance_by_hand() -> None:
    releases = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]], dtype=np.float32)
    np.testing.assert_allclose(class_covariance(releases), [[4.0, 6.0], [6.0, 12.0]])


@pytest.mark.parametrize(
    ("p", "weight", "expected"),
    [
        (1, 1, 7 + 5),  # the diagonal, and each pair of elements beside it once: ½ and ½
        (1, 0, 7),
        (1, 3, 7 + 15),
        (2, 1, np.sqrt(21 + 13)),
        (2, 2, np.linalg.norm(SIGMA)),  # both halves in full
        (2, 0, np.sqrt(21)),
        (3, 1, (64 + 1 + 8 + 8 + 27) ** (1 / 3)),
    ],
)
def test_s_by_hand(p: float, weight: float, expected: float) -> None:
    assert covariance_score(SIGMA, p, weight) == pytest.approx(expected)
    both = covariance_score(np.stack([SIGMA, -2 * SIGMA]), p, weight)
    np.testing.assert_allclose(both, [expected, 2 * expected])  # in units of variance


@pytest.mark.parametrize(("p", "weight"), [(0, 1), (-1, 1), (1, -0.1)])
def test_s_is_not_of_everything(p: float, weight: float) -> None:
    with pytest.raises(InvalidInput, match="p > 0"):
        covariance_score(SIGMA, p, weight)


def test_the_upper_triangle_goes_row_by_row() -> None:
    np.testing.assert_array_equal(upper_triangle(SIGMA), [4, -2, 0, 1, 3, 2])


def test_classes_are_taken_apart_whatever_their_order() -> None:
    given = world(0.5, classes=7)
    covariances = class_covariances(given.releases, given.person)
    for label, covariance in enumerate(covariances):
        np.testing.assert_allclose(
            covariance, np.cov(given.releases[given.person == label], rowvar=False), rtol=1e-5, atol=1e-6
        )
    assert upper_triangle(covariances).shape == (7, 78)


def test_s_tells_concentrated_members_and_nothing_where_there_is_nothing() -> None:
    narrow, same = world(0.7), world(1.0, classes=400, images=6)
    of_narrow = covariance_score(class_covariances(narrow.releases, narrow.person))
    of_same = covariance_score(class_covariances(same.releases, same.person))
    assert auc(-of_narrow, narrow.member) > 0.95
    assert auc(-of_same, same.member) == pytest.approx(0.5, abs=0.09)


def test_what_has_no_covariance_is_refused() -> None:
    with pytest.raises(InvalidInput, match="2 images or more"):
        class_covariance(np.ones((1, 3)))
    with pytest.raises(InvalidInput, match="not finite"):
        class_covariance(np.array([[1.0, np.inf], [0, 0]]))
    with pytest.raises(InvalidInput, match="3 releases of 2 images"):
        class_covariances(np.ones((3, 2)), np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize("shape", [(200, 10), (12, 300)])
def test_a_projection_is_a_principal_component_analysis(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    vectors, others = rng.normal(size=shape) * np.arange(1, shape[1] + 1), rng.normal(size=(5, shape[1]))
    ours = Projection.fit(vectors, 4)
    theirs = PCA(4, svd_solver="full").fit(vectors)
    np.testing.assert_allclose(np.abs(ours.apply(others)), np.abs(theirs.transform(others)), rtol=1e-6)
    assert (ours.axes[np.abs(ours.axes).argmax(axis=0), range(4)] > 0).all()
    assert Projection.fit(vectors, 1000).axes.shape[1] == min(shape[0] - 1, shape[1])


def test_equal_vectors_have_no_components() -> None:
    with pytest.raises(InvalidInput, match="no principal components"):
        Projection.fit(np.ones((5, 3)), 2)


def test_equally_many_images_of_every_class_that_has_them() -> None:
    person = np.array([4] * 5 + [1] * 2 + [9] * 3)
    rows = equal_images(person, 3)
    assert np.bincount(person[rows]).tolist() == [0, 0, 0, 0, 3, 0, 0, 0, 0, 3]
    assert (np.diff(rows) > 0).all()
    assert len(equal_images(person, 6)) == 0
