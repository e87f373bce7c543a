import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from leakrange.metrics.identification import fano_bits, matched


def test_matches_are_those_of_all_distances(rng: np.random.Generator) -> None:
    original = rng.random((1500, 4, 2)) + 100
    reconstructed = original + rng.normal(size=original.shape) * np.linspace(0, 0.5, 1500)[:, None, None]
    nearest = cdist(reconstructed.reshape(1500, -1), original.reshape(1500, -1)).argmin(axis=1)
    found = matched(original, reconstructed)
    np.testing.assert_array_equal(found, nearest == np.arange(1500))
    assert 0.2 < found.mean() < 0.8


def test_the_same_answer_to_all_is_right_about_one() -> None:
    original = np.linspace(0, 1, 7)[:, None]
    assert matched(original, np.full_like(original, 0.34)).sum() == 1


def test_the_bound_holds_for_the_least_telling_answers_and_is_reached() -> None:
    """Among all joint distributions of 5 samples and 5 answers that are right as often, SciPy finds none that
    tells less."""
    right, among = 0.6, 5
    uniform = np.full(among, 1 / among)

    def told(flat: np.ndarray) -> float:
        joint = np.exp(flat.reshape(among, among))
        np.fill_diagonal(joint, 0)
        joint *= ((1 - right) / among) / joint.sum(axis=1, keepdims=True)
        np.fill_diagonal(joint, right / among)
        return float((joint * np.log2(joint / np.outer(uniform, joint.sum(axis=0)))).sum())

    least = minimize(told, np.random.default_rng(3).normal(size=among * among)).fun
    assert fano_bits(right, among) == pytest.approx(least, abs=1e-4)


def test_the_ends_of_the_bound() -> None:
    assert fano_bits(1.0, 1000) == pytest.approx(math.log2(1000))
    assert fano_bits(1 / 1000, 1000) == fano_bits(0.0, 1000) == fano_bits(1.0, 1) == 0.0
    assert 0.0 < fano_bits(0.01, 1000) < fano_bits(0.02, 1000)
    with pytest.raises(ValueError, match="share"):
        fano_bits(1.1, 3)
