"""Whose face it is, and the two readings of releases that reveal k scores."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks.people.covariance import class_covariances, covariance_score
from leakrange.attacks.people.identities import deduce_identities, surest
from leakrange.attacks.people.membership import revealed_scores
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput
from tests.attacks.people.worlds import world


def test_the_nearest_centroid_by_hand() -> None:
    references = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 8.0]])
    images = np.array([[2.0, 0.5], [0.1, 0.2], [5.0, 4.0]])
    person = np.array([7, 7, 3, 3])
    by_angle = deduce_identities(images, references, person, truth=np.array([7, 3, 3]))
    assert by_angle.person.tolist() == [7, 3, 7]
    assert by_angle.accuracy == pytest.approx(2 / 3)
    by_distance = deduce_identities(images, references, person, normalise=False)
    assert by_distance.person.tolist() == [7, 7, 7]
    np.testing.assert_allclose(by_distance.distance, [0.5, np.hypot(1.9, 0.2), 5])
    other = [np.hypot(2.0, 4.0), np.hypot(0.1, 4.3), np.hypot(5.0, 0.5)]
    np.testing.assert_allclose(by_distance.margin, other - by_distance.distance)
    assert surest(by_distance, 0.6).tolist() == [7, 7, -1]
    assert surest(by_distance, 1.0).tolist() == [7, 7, 7]
    assert by_distance.accuracy is None


def test_deduced_classes_serve_as_granted_ones_do() -> None:
    given = world(0.7, images=18)
    references = np.concatenate([np.flatnonzero(given.person == c)[:3] for c in range(60)])
    asked = np.setdiff1d(np.arange(len(given.person)), references)
    deduced = deduce_identities(
        given.releases[asked],
        given.releases[references],
        given.person[references],
        given.person[asked],
        normalise=False,
    )
    assert deduced.accuracy is not None
    assert deduced.accuracy > 0.95
    scores = covariance_score(class_covariances(given.releases[asked], deduced.person))
    assert auc(-scores, given.member) > 0.9  # members are more concentrated


def test_embeddings_that_do_not_match_are_refused() -> None:
    with pytest.raises(InvalidInput, match="do not match"):
        deduce_identities(np.ones((2, 3)), np.ones((2, 4)), np.zeros(2, dtype=np.int64))
    with pytest.raises(InvalidInput, match="2 references of 3 persons"):
        deduce_identities(np.ones((2, 3)), np.ones((2, 3)), np.zeros(3, dtype=np.int64))


SOFTMAX = np.array([[0.1, 0.5, 0.25, 0.15], [0.4, 0.1, 0.2, 0.3]], dtype=np.float32)


def test_revealed_scores_are_sorted_however_the_defence_left_them() -> None:
    def released(rest: str) -> np.ndarray:
        chain = Chain.parse([{"top-k": {"k": 2, "rest": rest}}])
        return chain.apply(SOFTMAX, ReleaseContext(release="softmax"))

    for rest in ("zero", "bare"):
        np.testing.assert_allclose(revealed_scores(released(rest), 2), [[0.5, 0.25], [0.4, 0.3]])
    np.testing.assert_allclose(
        revealed_scores(released("renormalise"), 2), [[2 / 3, 1 / 3], [4 / 7, 3 / 7]], rtol=1e-6
    )
    np.testing.assert_array_equal(revealed_scores(released("renormalise"), 1)[:, 0] > 0.5, True)


def test_both_readings_of_ever_fewer_scores_tell_concentrated_members() -> None:
    given = world(0.4, classes=80, width=20)
    exponent = np.exp(given.releases / 3)
    softmax = exponent / exponent.sum(axis=1, keepdims=True)

    def reached(releases: np.ndarray) -> float:
        return auc(-covariance_score(class_covariances(releases, given.person)), given.member)

    whole = reached(softmax)
    assert whole > 0.8
    for k in (15, 5):
        sorted_scores = revealed_scores(softmax, k)
        in_place = np.where(softmax >= sorted_scores[:, -1:], softmax, 0)
        assert sorted_scores.shape == (len(softmax), k)
        assert reached(sorted_scores) > 0.7
        assert reached(in_place) > 0.7


def test_what_is_not_a_top_k_release_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no 5 highest"):
        revealed_scores(SOFTMAX, 5)
