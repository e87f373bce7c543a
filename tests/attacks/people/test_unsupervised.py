"""Scores without auxiliary data: their sign comes from validation classes, and from nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakrange.attacks.people.covariance import covariance_scores
from leakrange.attacks.people.gaussian import log_density
from leakrange.attacks.people.projection import Projection
from leakrange.attacks.people.unsupervised import mixture_log_odds, signed
from leakrange.wire.errors import InvalidInput
from tests.attacks.people.worlds import covariance_features, validation_classes, world


def test_a_sign_by_hand() -> None:
    member = np.array([True, True, False, False, True, False, False])
    validation = np.array([True, False, True, False, False, False, False])
    found = signed(np.array([1.0, 2.0, 5.0, 4.0, 6.0, 8.0, 1.0]), member, validation)
    assert (found.sign, found.column, found.validation_auc) == (-1, 0, 1.0)
    np.testing.assert_array_equal(found.scores, [-2, -4, -6, -8, -1])
    assert found.auc == pytest.approx(3 / 6)  # −2 beats −4, −8; −6 beats −8
    wrong = signed(np.array([5.0, 2.0, 1.0, 4.0, 3.0, 8.0, 7.0]), member, validation)
    assert (wrong.sign, wrong.auc, wrong.unsigned_auc) == (1, 0.0, 1.0)


@pytest.mark.parametrize("turned", [1, -1])
def test_concentrated_members_are_found_whichever_way_the_score_points(turned: int) -> None:
    given = world(0.75)
    scores = turned * covariance_scores(given.releases, given.person)
    found = signed(scores, given.member, validation_classes(given.member))
    assert found.sign == -turned
    assert found.auc == found.unsigned_auc > 0.95


def test_the_sign_is_never_learnt_on_test_classes() -> None:
    """Whatever the test classes' membership is said to be, the turned scores stay the same."""
    rng = np.random.default_rng(0)
    scores, member = rng.normal(size=(80, 3)), np.arange(80) % 2 == 0
    validation = validation_classes(member)
    plain = signed(scores, member, validation)
    for _ in range(20):
        permuted = member.copy()
        permuted[~validation] = rng.permutation(member[~validation])
        again = signed(scores, permuted, validation)
        assert (again.sign, again.column) == (plain.sign, plain.column)
        np.testing.assert_array_equal(again.scores, plain.scores)
    flipped = signed(scores, np.where(validation, ~member, member), validation)
    assert flipped.sign == -plain.sign  # and theirs it does depend on


def test_without_a_difference_the_signed_auc_is_one_half_and_the_unsigned_one_is_more() -> None:
    rng = np.random.default_rng(0)
    member = np.arange(60) % 2 == 0
    found = [
        signed(rng.normal(size=60), member, validation_classes(member, seed=seed)) for seed in range(300)
    ]
    assert np.mean([each.auc for each in found]) == pytest.approx(0.5, abs=0.02)
    assert np.mean([each.unsigned_auc for each in found]) > 0.54
    assert {each.sign for each in found} == {1, -1}


def test_both_parts_need_both_kinds() -> None:
    member = np.array([True, False, True, True])
    for validation in ([True, True, False, False], [True, False, True, False], [False] * 4):
        with pytest.raises(InvalidInput, match="both have members"):
            signed(np.arange(4.0), member, np.array(validation))
    with pytest.raises(InvalidInput, match="3 scores"):
        signed(np.arange(3.0), member, member)


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
    found = signed(log_odds, given.member, validation_classes(given.member))
    assert found.auc > 0.9
    # far out, where the posterior is 1 in floats, classes are told apart still
    assert len(np.unique(log_odds[:, 0])) == 80


def test_a_mixture_of_classes_alike_tells_nothing() -> None:
    reached = []
    for seed in range(12):
        given = world(1.0, images=6, width=4, seed=seed)
        features = covariance_features(given)
        log_odds = mixture_log_odds(Projection.fit(features, 3).apply(features), seed=seed)
        reached.append(signed(log_odds, given.member, validation_classes(given.member, seed=seed)).auc)
    assert np.mean(reached) == pytest.approx(0.5, abs=0.07)


def test_a_mixture_needs_classes() -> None:
    with pytest.raises(InvalidInput, match="no mixture of 3 components"):
        mixture_log_odds(np.ones((2, 2)), 3)
    with pytest.raises(InvalidInput, match="finite"):
        mixture_log_odds(np.full((5, 2), np.nan))
