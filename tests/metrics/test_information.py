"""Entropies by counting, against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from leakrange.metrics.entropy import joint_entropy, total_correlation


def columns(count: int = 700) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A column, one that follows it mostly, and one of its own."""
    rng = np.random.default_rng(4)
    first = rng.choice(4, count, p=[0.5, 0.3, 0.15, 0.05])
    second = np.where(rng.random(count) < 0.7, first % 3, rng.integers(0, 3, count))
    return first, second, rng.integers(0, 5, count)


def test_entropies_and_information_are_those_of_scipy_and_scikit_learn() -> None:
    first, second, third = columns()
    assert joint_entropy(first) == pytest.approx(entropy(np.bincount(first)), rel=1e-12)
    assert joint_entropy(first, third) == pytest.approx(entropy(np.bincount(first * 5 + third)), rel=1e-12)
    information = joint_entropy(first) + joint_entropy(second) - joint_entropy(first, second)
    assert information == pytest.approx(mutual_info_score(first, second), rel=1e-9)
    assert information > 0.2


def test_the_total_correlation_of_two_is_their_information_and_of_copies_their_entropy() -> None:
    first, second, _ = columns()
    assert total_correlation(first, second) == pytest.approx(mutual_info_score(first, second), rel=1e-9)
    assert total_correlation(first, first, first) == pytest.approx(2 * joint_entropy(first), rel=1e-12)
    assert total_correlation(first) == total_correlation() == joint_entropy() == 0.0


def test_columns_have_entries_and_one_length() -> None:
    for wrong in ([np.array([], dtype=int)], [np.array([1, 2]), np.array([1])]):
        with pytest.raises(ValueError, match="one length"):
            joint_entropy(*wrong)
