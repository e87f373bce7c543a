"""Substitutes that are drawn from a distribution of each class, against scikit-learn's probabilistic PCA."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from leakrange.defences.substitutes.choice import principal_normal, synthesised
from leakrange.wire.errors import InvalidInput


def correlated(count: int, width: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return 5.0 + rng.normal(size=(count, width)) @ rng.normal(size=(width, width))


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_draws_have_the_mean_and_covariance_of_probabilistic_pca(rank: int) -> None:
    samples = correlated(200, 6)
    drawn = principal_normal(samples, rank)(200_000, np.random.default_rng(1))
    expected = PCA(n_components=rank).fit(samples).get_covariance()
    size = np.abs(expected).max()
    np.testing.assert_allclose(drawn.mean(axis=0), samples.mean(axis=0), atol=0.02 * size**0.5)
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.02 * size)


def test_draws_of_fewer_samples_than_values_vary_as_much_as_the_samples_do() -> None:
    samples = correlated(9, 40)
    drawn = principal_normal(samples, rank=3)(20_000, np.random.default_rng(1))
    assert drawn.var(axis=0).sum() == pytest.approx(samples.var(axis=0, ddof=1).sum(), rel=0.03)


def test_draws_lie_in_no_subspace_that_few_samples_span() -> None:
    """Whoever saw that subspace would tell exactly which records lie in it."""
    samples = correlated(9, 40)
    drawn = principal_normal(samples, rank=1000)(60, np.random.default_rng(1))
    about = drawn - samples.mean(axis=0)
    assert np.linalg.matrix_rank(about) == 40
    axes = np.linalg.svd(samples - samples.mean(axis=0))[2][:8]
    assert np.linalg.norm(about - about @ axes.T @ axes, axis=1).min() > 0.1


def test_each_draw_is_of_the_class_of_the_sample_in_its_place() -> None:
    classes = np.arange(90) % 3
    samples = correlated(90, 4) + 1000.0 * classes[:, None]
    places = np.array([2, 0, 1, 80, 33])
    drawn = synthesised(samples, classes, places, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(np.rint(drawn.mean(axis=1) / 1000.0), classes[places])
    again = synthesised(samples, classes, places, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, again)


def test_a_class_of_too_few_samples_is_refused() -> None:
    with pytest.raises(InvalidInput, match="class of 2 training samples"):
        synthesised(
            correlated(5, 4), np.array([0, 0, 0, 1, 1]), np.array([0, 4]), 2, np.random.default_rng(0)
        )
