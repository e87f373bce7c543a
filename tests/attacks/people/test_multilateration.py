"""Embeddings from distances: exact where the distances are, and nothing where they tell nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.spatial.distance import cdist

from leakrange.attacks import attacks
from leakrange.attacks.people.multilateration import Multilateration, TemplateEvidence, multilaterate
from leakrange.metrics import unit_length
from leakrange.wire.errors import InvalidInput

WIDTH = 7


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (unit_length(first) * unit_length(second)).sum(axis=1)


@given(st.integers(0, 2**32 - 1), st.integers(WIDTH + 2, 30))
@settings(max_examples=25, deadline=None)
def test_two_references_more_than_dimensions_give_the_embedding_itself(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    references, hidden = 3.0 * rng.normal(size=(count, WIDTH)) + 2.0, 3.0 * rng.normal(size=(5, WIDTH))
    if np.linalg.cond(references - references.mean(axis=0)) > 50:
        return  # nearly in a plane, beyond which no penalty is small enough
    recovered = multilaterate(references, cdist(hidden, references), "euclidean")
    np.testing.assert_allclose(recovered, hidden, atol=1e-5)
    turned = multilaterate(references, cdist(hidden, references, "cosine"), "cosine")
    np.testing.assert_allclose(cosines(turned, hidden), 1.0, atol=1e-5)


def test_by_hand_in_the_plane() -> None:
    """(3, 4) is 5 from the origin, 4 from (3, 0), 3 from (0, 4), and √(9 + 49) from (0, -3)."""
    references = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [0.0, -3.0]])
    found = multilaterate(references, np.array([[5.0, 4.0, 3.0, np.sqrt(58.0)]]), "euclidean")
    np.testing.assert_allclose(found, [[3.0, 4.0]], atol=1e-7)


def test_of_noisy_distances_it_is_as_near_as_the_best_fit_of_all_distances() -> None:
    """An independent solution: the point with the least sum of squared errors of the distances themselves."""
    rng = np.random.default_rng(3)
    references, hidden = rng.normal(size=(60, WIDTH)), rng.normal(size=(8, WIDTH))
    distances = cdist(hidden, references) + 0.05 * rng.normal(size=(8, 60))
    found = multilaterate(references, distances, "euclidean")
    fitted = [
        least_squares(lambda z, row=row: np.linalg.norm(references - z, axis=1) - row, np.zeros(WIDTH)).x
        for row in distances
    ]
    ours, theirs = (np.linalg.norm(each - hidden, axis=1).mean() for each in (found, np.array(fitted)))
    assert ours < 1.5 * theirs < 0.2


def test_few_distances_and_another_net_tell_less_and_random_ones_nothing() -> None:
    rng = np.random.default_rng(0)
    references, hidden = unit_length(rng.normal(size=(40, 16))), unit_length(rng.normal(size=(30, 16)))
    distances = cdist(hidden, references)
    other_net = references + 0.5 * rng.normal(size=references.shape) / 4
    told = {
        "all": multilaterate(references, distances, "euclidean"),
        "few": multilaterate(references[:8], distances[:, :8], "euclidean"),
        "other": multilaterate(other_net, distances, "euclidean"),
        "random": multilaterate(references, rng.permuted(distances, axis=1), "euclidean"),
    }
    near = {name: cosines(found, hidden).mean() for name, found in told.items()}
    assert near["all"] > 0.999
    assert 0.4 < near["few"] < 0.8
    assert 0.6 < near["other"] < 0.99
    assert abs(near["random"]) < 0.2


def test_answers_that_are_all_alike_tell_nothing() -> None:
    references = np.random.default_rng(0).normal(size=(9, 5))
    references = unit_length(references)
    assert not multilaterate(references, np.ones((3, 9)), "euclidean").any()
    assert not multilaterate(np.ones((9, 5)), np.arange(27.0).reshape(3, 9), "euclidean").any()


@pytest.mark.parametrize(
    ("references", "distances", "said"),
    [
        (np.ones((9, 5)), np.ones((3, 8)), "do not match"),
        (np.ones((3, 5)), np.ones((3, 3)), "3 references are too few"),
        (np.ones((9, 5)), np.full((3, 9), np.nan), "not finite"),
        (np.full((9, 5), np.inf), np.ones((3, 9)), "not finite"),
        (np.ones(9), np.ones((3, 9)), "do not match"),
    ],
)
def test_evidence_that_cannot_be_used_is_refused(
    references: np.ndarray, distances: np.ndarray, said: str
) -> None:
    assert attacks["multilateration"] is Multilateration
    with pytest.raises(InvalidInput, match=said):
        Multilateration().recover(TemplateEvidence(references, distances, "euclidean"))
