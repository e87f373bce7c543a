"""First-cut attacks: what single releases tell, with people kept apart and with people mixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from leakrange.attacks.people.first_cut import first_cut, score_threshold
from leakrange.attacks.people.pairs import choose_pairs
from leakrange.wire.errors import InvalidInput
from tests.attacks.people.worlds import world

CLASSIFIERS: list[Any] = ["logistic", "forest", "svm"]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_what_every_release_of_a_member_shows_is_found(classifier: Any) -> None:
    given = world(classes=20, images=6, width=4)
    marked = given.releases + 8 * given.member_image[:, None]
    for folds_by in ("person", "record"):
        found = first_cut(marked, given.member_image, given.person, classifier, folds_by)  # type: ignore[arg-type]
        assert min(found.precision[0], found.recall[0], found.f1[0], found.auc[0]) > 0.85


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_people_alike_give_one_half_where_no_person_is_on_both_sides(classifier: Any) -> None:
    reached = []
    for seed in range(3):
        given = world(classes=40, images=5, width=4, seed=seed)
        found = first_cut(given.releases, given.member_image, given.person, classifier, seed=seed)
        reached.append(found.auc[0])
    assert np.mean(reached) == pytest.approx(0.5, abs=0.1)


def test_folds_of_records_recognise_people_instead() -> None:
    """Nothing but who it is can be read in these releases; mixed folds call that membership."""
    given = world(classes=20, images=8, width=10)
    apart, mixed = (
        first_cut(given.releases, given.member_image, given.person, "forest", folds_by)  # type: ignore[arg-type]
        for folds_by in ("person", "record")
    )
    assert mixed.auc[0] > 0.9
    assert apart.auc[0] < 0.75
    for label in range(20):
        assert len(np.unique(apart.out_of_fold.fold[given.person == label])) == 1
    assert any(len(np.unique(mixed.out_of_fold.fold[given.person == label])) > 1 for label in range(20))


def test_figures_are_means_and_deviations_over_folds() -> None:
    given = world(0.5, classes=20, images=6, width=3)
    marked = given.releases + 2 * given.member_image[:, None]
    found = first_cut(marked, given.member_image, given.person, components=2)
    each = []
    for fold in range(5):
        part = found.out_of_fold.fold == fold
        truth, predicted = given.member_image[part], found.out_of_fold.scores[part] > 0
        each.append(precision_recall_fscore_support(truth, predicted, average="binary", zero_division=0)[:3])
    expected = np.array(each, dtype=float)
    got = np.array([found.precision, found.recall, found.f1])
    np.testing.assert_allclose(got, np.stack([expected.mean(axis=0), expected.std(axis=0, ddof=1)], axis=1))
    aucs = found.out_of_fold.aucs(given.member_image)
    np.testing.assert_allclose(found.auc, (np.mean(aucs), np.std(aucs, ddof=1)))


def test_a_verification_distance_is_a_score_of_its_pair() -> None:
    given = world(0.7)
    pairs = choose_pairs(given.person, 1200)
    distances = np.linalg.norm(given.releases[pairs[:, 0]] - given.releases[pairs[:, 1]], axis=1)
    of_pair = given.person[pairs[:, 0]]
    found = score_threshold(distances, given.member[of_pair], of_pair % 5 == 0)
    assert found.sign == -1
    assert 0.8 < found.auc < 0.99  # one pair tells less than its class
    assert len(found.scores) == np.sum(of_pair % 5 != 0)


def test_people_of_both_kinds_are_refused() -> None:
    given = world(classes=20, images=4)
    wrong = given.member_image.copy()
    wrong[0] = ~wrong[0]
    with pytest.raises(InvalidInput, match="has images of members and of non-members"):
        first_cut(given.releases, wrong, given.person)
    with pytest.raises(InvalidInput, match="do not match"):
        first_cut(given.releases[1:], given.member_image, given.person)
    few = given.person < 4
    with pytest.raises(InvalidInput, match="no 5 folds"):
        first_cut(given.releases[few], given.member_image[few], given.person[few])
