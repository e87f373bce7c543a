"""Members by how close their samples are, within and across: it wins where a net holds members together, and
loses where answers tell nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from leakrange.attacks.people.closeness import (
    Closeness,
    ClosenessParameters,
    closeness,
    first_closeness,
    vector_closeness,
)
from leakrange.attacks.people.membership import PeopleEvidence, ShadowVectors, in_folds
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput

PEOPLE, IMAGES, KNOWN, WIDTH, REFERENCES = 60, 6, 12, 8, 5
PUBLIC = 24


def vectors(spread: np.ndarray, rng: np.random.Generator, images: int) -> np.ndarray:
    """So many samples of each person, in rounds, around a place of each person."""
    places = 3.0 * rng.normal(size=(len(spread), WIDTH))
    noise = rng.normal(size=(images, len(spread), WIDTH)) * spread[:, np.newaxis]
    return (places + noise).reshape(-1, WIDTH).astype(np.float32)


def evidence(
    release: str, *, apart: float, known: int = KNOWN, shadow: float | None = None, seed: int = 0
) -> tuple[PeopleEvidence, np.ndarray]:
    """Answers about people of whom half are members, who spread ``apart`` as far as others, and the truth.
    What a shadow's members do, is ``shadow``."""
    rng = np.random.default_rng(seed)
    member = rng.permutation(PEOPLE) < PEOPLE // 2
    told = vectors(np.where(member, apart, 1.0), rng, IMAGES)
    person, across = np.arange(len(told)) % PEOPLE, None
    if release == "score":
        public = vectors(np.ones(REFERENCES), rng, 1)
        across = cdist(told[:PEOPLE], public)
        turns = [(first, second) for first in range(IMAGES) for second in range(first)]
        pairs = told.reshape(IMAGES, PEOPLE, WIDTH)
        told = np.concatenate([np.linalg.norm(pairs[a] - pairs[b], axis=1) for a, b in turns])[:, np.newaxis]
        person = np.arange(len(told)) % PEOPLE
    membership = np.full(PEOPLE, -1)
    for kind in (True, False):
        membership[np.flatnonzero(member == kind)[:known]] = int(kind)
    own = None
    if shadow is not None:
        public = 2.0 * vectors(np.full(PUBLIC, shadow), rng, 4)
        pool = 2.0 * vectors(np.ones(PEOPLE), rng, 4)  # its distances are of another size
        own = ShadowVectors(public, np.arange(len(public)) % PUBLIC, pool, np.arange(len(pool)) % PEOPLE)
    given = PeopleEvidence(told, told, person, membership, release, 0, across, across, own)
    return given, member


def reached(given: PeopleEvidence, member: np.ndarray, **parameters: object) -> float:
    places, scores, _ = Closeness(ClosenessParameters.model_validate(parameters)).score(given)
    asked = given.person[places]
    assert set(asked.tolist()) == set(np.flatnonzero(~given.known).tolist())
    return float(auc(scores, member[asked]))


def test_a_row_holds_the_statistics_of_both_kinds_of_distances() -> None:
    [row] = closeness([np.array([1.0, 3.0])], [np.array([4.0, 6.0, 11.0])])
    assert row[[0, 1, 2]].tolist() == [2.0, 2.0, 1.0]
    assert row[[6, 7]].tolist() == [7.0, 6.0]
    assert row[12:].tolist() == [4.0, 3.0, 5.0]
    rng = np.random.default_rng(0)
    given, person = rng.normal(size=(9, 4)).astype(np.float32), np.array([2, 0, 1, 1, 0, 2, 2, 1, 0])
    table = vector_closeness(given, person)
    means = np.stack([given[person == each].mean(axis=0) for each in range(3)])
    for each in range(3):
        own = given[person == each]
        across = cdist(own, np.delete(means, each, axis=0))
        assert table[each, 0] == pytest.approx(pdist(own).mean(), rel=1e-5)
        assert table[each, [6, 12]] == pytest.approx([across.mean(), across.min()], rel=1e-5)


def test_a_verification_compares_first_samples_with_others_and_nobody_with_himself() -> None:
    """Three people on a line, two samples each; the first samples of the last two are references."""
    line = np.array([[0.0], [10.0], [30.0], [1.0], [12.0], [33.0]], dtype=np.float32)
    table = first_closeness(line, np.array([0, 1, 2, 0, 1, 2]), np.array([1, 2]))
    assert table[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert table[:, 6].tolist() == [20.0, 20.0, 20.0]
    assert table[:, 12].tolist() == [10.0, 20.0, 20.0]


@pytest.mark.parametrize("release", ["features", "score"])
@pytest.mark.parametrize("learns", ["known", "shadow"])
def test_members_who_are_closer_are_told_and_others_are_not(release: str, learns: str) -> None:
    def told(apart: float, seed: int) -> float:
        known, shadow = (KNOWN, None) if learns == "known" else (0, 0.5)
        return reached(*evidence(release, apart=apart, known=known, shadow=shadow, seed=seed), learns=learns)

    assert told(0.5, 0) > 0.9
    assert 0.35 < np.mean([told(1.0, seed) for seed in range(5)]) < 0.65


def test_a_shadow_whose_members_are_like_others_teaches_nothing() -> None:
    areas = [
        reached(*evidence("features", apart=0.5, known=0, shadow=1.0, seed=seed), learns="shadow")
        for seed in range(6)
    ]
    assert 0.2 < np.mean(areas) < 0.8


def test_who_is_unaware_of_a_defence_learns_from_both_kinds_of_undefended_distances() -> None:
    given, member = evidence("score", apart=0.5)
    assert given.across is not None
    turned = replace(given, releases=9.0 - given.releases, across=20.0 - given.across)
    assert reached(turned, member) < 0.2
    aware = replace(turned, lessons=turned.releases, across_lessons=turned.across)
    assert reached(aware, member) > 0.9


@pytest.mark.parametrize("release", ["features", "score"])
def test_in_folds_each_person_keeps_the_distances_to_others(release: str) -> None:
    given, member = evidence(release, apart=0.5, known=3)
    attack = Closeness(ClosenessParameters.model_validate({"folds": 4}))
    (rows, scores, _), fold = in_folds(attack, given, member)
    people = given.person[rows]
    assert sorted(people.tolist()) == np.flatnonzero(~given.known).tolist()
    assert np.mean([auc(scores[fold == k], member[people[fold == k]]) for k in range(4)]) > 0.9
    if given.across is not None:
        mixed = replace(given, across=given.across + np.where(member, 50.0, 0.0)[:, np.newaxis])
        (rows, scores, _), fold = in_folds(attack, replace(mixed, across_lessons=mixed.across), member)
        truth = member[given.person[rows]]
        assert all(auc(scores[fold == k], truth[fold == k]) == 1.0 for k in range(4))


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(ValueError, match="a shadow needs none"):
        ClosenessParameters.model_validate({"learns": "shadow", "folds": 4})
    with pytest.raises(ValueError, match="at least 5"):
        ClosenessParameters.model_validate({"known": 4})
    assert ClosenessParameters.model_validate({"learns": "shadow"}).known == 0
    shadow = ClosenessParameters.model_validate({"learns": "shadow"})
    assert "no model of a recognition" in str(Closeness.refuses(shadow, "softmax"))
    given, _ = evidence("features", apart=0.5, known=0)
    with pytest.raises(InvalidInput, match="two known members"):
        Closeness().score(given)
    with pytest.raises(InvalidInput, match="not finite"):
        Closeness().score(replace(given, releases=given.releases * np.nan))
