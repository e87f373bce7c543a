"""Vectors of a class without those that were put there by mistake, and classes that answers make."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from pydantic import ValidationError

from leakrange.attacks import attacks
from leakrange.attacks.people.classes import left, most_alike, trimmed
from leakrange.attacks.people.identities import clusters, means
from leakrange.attacks.people.membership import PeopleEvidence
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput
from tests.attacks.people.worlds import world

CLASS_BASED = attacks["class-based"]


def attack(**given: object) -> object:
    return CLASS_BASED(CLASS_BASED.Parameters.model_validate({"known": 10, **given}))


def test_what_lies_apart_is_left_out() -> None:
    vectors = np.array([[0.0, 0.1], [9.0, 9.0], [0.2, 0.0], [-0.1, 0.0], [-8.0, 9.0], [0.0, -0.2]])
    assert most_alike(vectors, 4).tolist() == [0, 2, 3, 5]
    assert most_alike(vectors, 6).tolist() == list(range(6))
    with pytest.raises(InvalidInput, match="7 of 6"):
        most_alike(vectors, 7)


def test_few_that_are_kept_spread_as_little_as_any_where_most_are_of_one_person() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        vectors = np.concatenate([rng.normal(size=(5, 8)), rng.normal(size=(3, 8)) + 6.0])
        vectors = vectors[rng.permutation(8)]
        best = min(combinations(range(8), 5), key=lambda rows: vectors[list(rows)].var(axis=0).sum())
        assert most_alike(vectors, 5).tolist() == list(best)


def test_every_class_keeps_as_many() -> None:
    assert [left(7, share) for share in (0.0, 0.4, 0.5)] == [7, 5, 4]
    releases = np.random.default_rng(0).normal(size=(3 * 7, 4))
    releases[8] += 50.0
    kept = trimmed(releases, 3, 0.2)
    assert kept.shape == (18, 4)
    assert np.abs(kept).max() < 10.0
    assert {row.tobytes() for row in kept} <= {row.tobytes() for row in releases}
    assert trimmed(releases, 3, 0.1) is releases


def test_trimming_finds_members_whose_classes_hold_strangers() -> None:
    """Up to three of ten pictures of everybody show somebody else."""
    given = world(0.6, images=10)
    rng = np.random.default_rng(1)
    person = given.person.copy()
    for one in range(60):
        wrong = np.flatnonzero(given.person == one)[: rng.integers(0, 4)]
        person[wrong] = (one + 1) % 60
    rows = np.concatenate([np.flatnonzero(person == one)[:7] for one in range(60)])
    membership = np.where(rng.random(60) < 0.4, given.member.astype(int), -1)
    releases = given.releases[rows]
    evidence = PeopleEvidence(
        releases=releases, lessons=releases, person=person[rows], membership=membership, release="features"
    )
    areas = {}
    for trim in (0.0, 0.45):
        found = attack(trim=trim).score(evidence)  # type: ignore[attr-defined]
        areas[trim] = auc(found.scores, given.member[evidence.person[found.places]])
    assert areas[0.45] > 0.9
    assert areas[0.45] > areas[0.0] + 0.1


def test_answers_of_one_person_make_a_cluster_whatever_their_length() -> None:
    rng = np.random.default_rng(0)
    person = rng.permutation(np.repeat(np.arange(12), 6))
    centres = rng.normal(size=(12, 16))
    vectors = (centres[person] + 0.1 * rng.normal(size=(72, 16))) * rng.uniform(0.1, 10.0, (72, 1))
    found = clusters(vectors, 12)
    assert len(set(zip(found.tolist(), person.tolist(), strict=True))) == 12
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(means(vectors, found)[3], unit[person == person[3]].mean(axis=0))
    with pytest.raises(InvalidInput, match="do not make 80"):
        clusters(vectors, 80)
    with pytest.raises(InvalidInput, match="not finite"):
        clusters(np.where(vectors > 1, np.nan, vectors), 12)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"labels": "clustered"}, "needs 'each'"),
        ({"sure": 0.5, "each": 4}, "granted ones are right"),
        ({"trim": 0.3, "each": 4}, "leaves 3 images"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        attack(**given)


def test_a_trimmed_class_has_enough_images_and_distances_are_not_trimmed() -> None:
    parameters = CLASS_BASED.Parameters(trim=0.4)
    assert CLASS_BASED.fewest(parameters, "features") == 6
    reason = CLASS_BASED.refuses(parameters, "score")
    assert reason is not None
    assert "distances" in reason
