"""Scores without auxiliary data: their sign comes from validation classes, and from nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakrange.attacks.people.class_scores import direction, mixture_log_odds
from leakrange.attacks.people.classifiers import Projection
from leakrange.attacks.people.covariance import class_covariances, covariance_score, log_density
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput
from tests.attacks.people.worlds import covariance_features, validation_classes, world


def reached_by(table: np.ndarray, member: np.ndarray, known: np.ndarray) -> float:
    """The AUC on the others of the column and sign that the known classes recommend."""
    column, sign = direction(table[known], member[known])
    return float(auc(sign * table[~known, column], member[~known]))


def test_a_column_and_its_sign_by_hand() -> None:
    member = np.array([True, True, False, False])
    table = np.array([[1.0, 3.0], [4.0, 1.0], [2.0, 4.0], [3.0, 5.0]])  # AUCs of .5 and of 0
    assert direction(table, member) == (1, -1)
    assert direction(-table, member) == (1, 1)
    assert direction(table[:, :1], member) == (0, 1)


@pytest.mark.parametrize("turned", [1, -1])
def test_concentrated_members_are_found_whichever_way_the_score_points(turned: int) -> None:
    given = world(0.75)
    scores = turned * covariance_score(class_covariances(given.releases, given.person))
    known = validation_classes(given.member)
    assert direction(scores[known, np.newaxis], given.member[known]) == (0, -turned)
    assert reached_by(scores[:, np.newaxis], given.member, known) > 0.95


def test_a_normal_density_is_scipys() -> None:
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(4, 4))
    covariance, mean, vectors = mixing @ mixing.T + np.eye(4), rng.normal(size=4), rng.normal(size=(7, 4))
    expected = stats.multivariate_normal(mean, covariance).logpdf(vectors)
    np.testing.assert_allclose(log_density(vectors, mean, covariance), expected)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_log_odds_are_of_scikit_learns_posterior(covariance: str) -> None:
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(0)
    features = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) * 0.5 + 2])
    ours = mixture_log_odds(features, 2, "each", covariance)  # type: ignore[arg-type]
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    theirs = GaussianMixture(
        2, covariance_type=covariance, reg_covar=1e-2, n_init=5, max_iter=1000, random_state=0
    ).fit(scaled)
    np.testing.assert_allclose(1 / (1 + np.exp(-ours)), theirs.predict_proba(scaled), atol=1e-9)


@pytest.mark.parametrize("components", [2, 3])
def test_a_mixture_finds_the_members_and_its_sign_is_learnt(components: int) -> None:
    given = world(0.6, classes=80)
    features = covariance_features(given)
    projected = Projection.fit(features, 4).apply(features)
    log_odds = mixture_log_odds(projected, components)
    assert log_odds.shape == (80, components)
    assert reached_by(log_odds, given.member, validation_classes(given.member)) > 0.9
    # far out, where the posterior is 1 in floats, classes are told apart still
    assert len(np.unique(log_odds[:, 0])) == 80


def test_a_mixture_of_classes_alike_tells_nothing() -> None:
    reached = []
    for seed in range(12):
        given = world(1.0, images=6, width=4, seed=seed)
        features = covariance_features(given)
        log_odds = mixture_log_odds(Projection.fit(features, 3).apply(features), seed=seed)
        reached.append(reached_by(log_odds, given.member, validation_classes(given.member, seed=seed)))
    assert np.mean(reached) == pytest.approx(0.5, abs=0.07)


def test_a_mixture_needs_classes() -> None:
    with pytest.raises(InvalidInput, match="no mixture of 3 components"):
        mixture_log_odds(np.ones((2, 2)), 3)
    with pytest.raises(InvalidInput, match="finite"):
        mixture_log_odds(np.full((5, 2), np.nan))
