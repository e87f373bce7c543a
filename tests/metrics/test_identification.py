import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from leakrange.metrics.reconstruction import bits_above_chance, lists, places


def test_places_are_those_of_all_distances(rng: np.random.Generator) -> None:
    original = rng.random((1500, 4, 2)) + 100
    reconstructed = original + rng.normal(size=original.shape) * np.linspace(0, 0.5, 1500)[:, None, None]
    apart = cdist(reconstructed.reshape(1500, -1), original.reshape(1500, -1))
    found = places(original, reconstructed)
    nearer = (apart < np.diag(apart)[:, None]).sum(axis=1)
    np.testing.assert_allclose(found, nearer, atol=1)  # float32 has few digits after 100
    np.testing.assert_array_equal(found == 0, nearer == 0)
    assert 0.2 < (found == 0).mean() < 0.8


def test_the_same_answer_to_all_tells_nothing() -> None:
    original = np.linspace(0, 1, 7)[:, None]
    assert sorted(places(original, np.full_like(original, 0.34))) == list(range(7))


def test_originals_that_are_equally_near_are_not_told_apart() -> None:
    original = np.array([[0.0], [0.0], [1.0]])
    assert places(original, original).tolist() == [1, 1, 0]


@pytest.mark.parametrize("k", [1, 2])
def test_the_bound_holds_for_the_least_telling_answers_and_is_reached(k: int) -> None:
    """Among all joint distributions of 6 samples and answers, one for each list of k, of which as many are
    right, SciPy finds none that tells less."""
    right, among = 0.6, 6
    inside = np.array([[(answer - sample) % among < k for answer in range(among)] for sample in range(among)])

    def told(flat: np.ndarray) -> float:
        joint = np.exp(flat.reshape(among, among))
        for part, share in ((inside, right), (~inside, 1 - right)):
            joint = np.where(part, joint * share / among / (joint * part).sum(axis=1, keepdims=True), joint)
        return float((joint * np.log2(joint / (joint.sum(axis=0) / among))).sum())

    least = minimize(told, np.random.default_rng(3).normal(size=among * among)).fun
    assert bits_above_chance(right, k / among) == pytest.approx(least, abs=1e-4)


def test_a_list_of_one_is_fanos_inequality() -> None:
    right, wrong, among = 0.3, 0.7, 1000
    doubt = -right * math.log2(right) - wrong * math.log2(wrong)
    bound = math.log2(among) - doubt - wrong * math.log2(among - 1)
    assert bits_above_chance(right, 1 / among) == pytest.approx(bound)


def test_the_ends_of_the_bound() -> None:
    assert bits_above_chance(1.0, 1 / 1000) == pytest.approx(math.log2(1000))
    assert bits_above_chance(1 / 1000, 1 / 1000) == bits_above_chance(0.0, 1 / 1000) == 0.0
    assert bits_above_chance(1.0, 1.0) == 0.0
    for right, chance in ((1.1, 0.5), (0.5, 0.0)):
        with pytest.raises(ValueError, match="share"):
            bits_above_chance(right, chance)


def test_lists_are_up_to_half_of_all_samples() -> None:
    assert lists(1) == []
    assert lists(7) == [1, 2]
    assert lists(8) == [1, 2, 4]
