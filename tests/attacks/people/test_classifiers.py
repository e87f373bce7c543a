"""The classifiers of classes and records, and the folds that they are fitted in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from leakrange.attacks.people.classes import even_folds, person_folds
from leakrange.attacks.people.classifiers import DEFAULTS, GRIDS, choose_setting, fitted_scores
from leakrange.wire.errors import InvalidInput


@pytest.mark.parametrize("setting", [1e-6, 0.5])
def test_quadratic_discriminant_analysis_is_bayes_rule_of_two_normals(setting: float) -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.3
    records = rng.normal(size=(200, 3)) * np.where(positive, 0.5, 1.5)[:, None] + positive[:, None]
    asked = rng.normal(size=(50, 3))
    mean, deviation = records.mean(axis=0), records.std(axis=0)

    def log_joint(part: np.ndarray) -> np.ndarray:
        covariance = np.cov((part - mean) / deviation, rowvar=False)
        shrunk = (1 - setting) * covariance + setting * np.diag([np.trace(covariance) / 3] * 3)
        law = stats.multivariate_normal(((part - mean) / deviation).mean(axis=0), shrunk)
        return law.logpdf((asked - mean) / deviation) + np.log(len(part) / 200)

    expected = log_joint(records[positive]) - log_joint(records[~positive])
    np.testing.assert_allclose(fitted_scores("qda", records, positive, asked, setting), expected)


def test_logistic_regression_is_of_standardised_values_and_ignores_what_never_changes() -> None:
    rng = np.random.default_rng(0)
    records = np.column_stack([rng.normal(size=(80, 2)) * [1, 1e4], np.full(80, 0.1)])
    positive = records[:, 1] > 0
    scaled = (records - records.mean(axis=0)) / np.where(records.std(axis=0) > 1e-9, records.std(axis=0), 1)
    expected = LogisticRegression(C=0.5).fit(scaled[:, :2], positive).decision_function(scaled[:, :2])
    moved = records + np.array([0, 0, 1e6])
    np.testing.assert_allclose(fitted_scores("logistic", records, positive, moved, 0.5), expected, atol=1e-3)


def test_the_setting_is_chosen_on_training_records_where_there_are_enough() -> None:
    rng = np.random.default_rng(0)
    positive = np.arange(120) % 2 == 0
    one = positive[:, None] + rng.normal(size=(120, 1))
    # one value is ranked alike by all: then the simplest model is as good as any
    assert choose_setting("logistic", one, positive) == GRIDS["logistic"][0]
    assert choose_setting("logistic", one[:49], positive[:49]) == DEFAULTS["logistic"]
    assert choose_setting("qda", one, np.arange(120) < 9) == DEFAULTS["qda"]
    # only the correlation tells the two apart, and a spherical covariance has none
    leaning = rng.normal(size=(120, 1)) * np.column_stack([np.ones(120), np.where(positive, 1, -1)])
    assert choose_setting("qda", leaning + rng.normal(size=(120, 2)) * 0.7, positive) < 0.9


def test_folds_are_even_and_random() -> None:
    positive = np.arange(53) < 23
    fold = even_folds(positive, 5, seed=1)
    assert sorted(np.bincount(fold[positive]).tolist()) == [4, 4, 5, 5, 5]
    assert sorted(np.bincount(fold).tolist()) == [10, 10, 11, 11, 11]
    assert (fold != even_folds(positive, 5, seed=2)).any()
    with pytest.raises(InvalidInput, match="no 5 folds"):
        even_folds(np.arange(53) < 4)


def test_no_person_is_in_two_folds() -> None:
    rng = np.random.default_rng(0)
    person = rng.integers(0, 25, 400)
    fold = person_folds(person, rng.random(25)[person] < 0.5)
    for label in range(25):
        assert len(np.unique(fold[person == label])) == 1
    assert len(np.unique(fold)) == 5


@pytest.mark.parametrize(
    ("train", "test", "labels", "message"),
    [
        (np.ones((3, 2)), np.ones((3, 1)), [1, 0, 1], "do not match"),
        (np.ones((3, 2)), np.ones((3, 2)), [1, 0], "do not match"),
        (np.ones((3, 2)), np.full((3, 2), np.inf), [1, 0, 1], "not finite"),
        (np.ones((3, 2)), np.ones((3, 2)), [1, 1, 1], "both labels"),
    ],
)
def test_records_that_cannot_be_used_are_refused(
    train: np.ndarray, test: np.ndarray, labels: list[int], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        fitted_scores("logistic", train, np.array(labels, dtype=bool), test)
