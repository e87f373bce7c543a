"""Whom a service meets: members and strangers in rounds, and nobody in two parts."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks.people.questions import asked_pairs
from leakrange.data import Samples, load, load_labels
from leakrange.data.crowd import asked_order
from leakrange.data.people import ROLES
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

CROWD = Crowd(people=20, images=6, public=20, students=5, enrolled=5, held=3)
SPEC = DataSpec(name="synthpeople", size=32, count=4096, auxiliary=0.0, crowd=CROWD)


@pytest.fixture(scope="module")
def people() -> Samples:
    return load(SPEC)


def rounds(people: Samples, part: str, persons: int) -> np.ndarray:
    """Persons of the part's images, a row for each round."""
    return people.labels["person"][people.where(part)].reshape(-1, persons)


@pytest.mark.parametrize(
    ("part", "persons", "images"),
    [("pool", 40, 6), ("public", 20, 4), ("enrolled", 5, 5), ("held", 5, 3)],
)
def test_each_round_shows_everybody_once_in_one_order(
    people: Samples, part: str, persons: int, images: int
) -> None:
    shown = rounds(people, part, persons)
    assert shown.shape == (images, persons)
    assert (shown == shown[0]).all()
    assert len(set(shown[0].tolist())) == persons
    assert len(set(people.where(part).tolist())) == persons * images


def test_members_are_those_whose_very_images_are_trained_on(people: Samples) -> None:
    member = people.members().reshape(6, 40)
    assert (member == member[0]).all()
    assert member[0].sum() == 20
    assert 0 < member[0][:20].sum() < 20  # their places do not tell who they are
    role = people.labels["role"][people.where("pool")]
    np.testing.assert_array_equal(role == ROLES.index("member"), people.members())
    assert set(role[~people.members()]) == {ROLES.index("outsider")}


def test_the_same_people_are_drawn_as_when_they_were_measured(people: Samples) -> None:
    """A crowd of another draw gives other figures: raise `Crowd.version` with these digests."""
    order = asked_order(CROWD, SPEC.seed)
    member = people.members()[:40]
    assert (order[member] == np.arange(20)).all()
    assert (order[~member] == np.arange(20, 40)).all()
    parts = {
        part: digest(people.where(part).tolist())[:12] for part in ("pool", "public", "enrolled", "held")
    }
    pairs = digest(asked_pairs(CROWD, 100, SPEC.seed).tolist())[:12]
    assert (CROWD.version, pairs) == (2, "4787489c128a")
    assert parts == {
        "pool": "d9f3ee571ad5",
        "public": "d7c703acb81c",
        "enrolled": "84d82b48a593",
        "held": "9426ac210ae4",
    }


def test_an_attacker_has_other_photographs_of_those_that_it_asks_about(people: Samples) -> None:
    pool, own = people.where("pool"), people.where("photographs")
    assert not set(own.tolist()) & set(pool.tolist())
    person, role = people.labels["person"], people.labels["role"]
    shown = person[own] == np.tile(person[pool[:40]], 3)
    assert shown.reshape(3, 40).any(axis=0).all()
    assert set(role[own[~shown]].tolist()) <= {ROLES.index("public")}  # nobody who is asked about


def test_an_attackers_recogniser_learns_the_public_and_nobody_else(people: Samples) -> None:
    spec = SPEC.model_copy(update={"crowd": CROWD.model_copy(update={"learners": "public"})})
    public = load(spec)
    assert public.fingerprint != people.fingerprint
    for told in (public, load_labels(spec)):
        trained = np.concatenate([told.where("train"), told.where("validation")])
        assert (
            sorted(trained.tolist()) == np.flatnonzero(told.labels["role"] == ROLES.index("public")).tolist()
        )
        assert (told.labels["person"] >= 0).sum() == len(trained)
    np.testing.assert_array_equal(public.where("pool"), people.where("pool"))


def test_nobody_is_in_two_parts_and_a_student_is_tried_on_images_that_it_has_not_learned(
    people: Samples,
) -> None:
    pool, public = (set(rounds(people, part, n)[0].tolist()) for part, n in (("pool", 40), ("public", 20)))
    enrolled, held = (people.where(part) for part in ("enrolled", "held"))
    known = set(people.labels["person"][enrolled].tolist())
    assert not pool & public
    assert not known & (pool | public)
    assert known == set(people.labels["person"][held].tolist())
    assert not set(enrolled.tolist()) & set(held.tolist())


def test_a_crowd_changes_no_image_and_is_part_of_what_the_set_is(people: Samples) -> None:
    plain = load(SPEC.model_copy(update={"crowd": None}))
    np.testing.assert_array_equal(plain.split, people.split)
    other = load(SPEC.model_copy(update={"crowd": CROWD.model_copy(update={"people": 19})}))
    assert other.values is plain.values
    assert len({plain.fingerprint, people.fingerprint, other.fingerprint}) == 3


def test_a_crowd_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match="90 are needed"):
        load(SPEC.model_copy(update={"crowd": CROWD.model_copy(update={"people": 90})}))
    with pytest.raises(InvalidInput, match="no cast people"):
        load(DataSpec(name="digits", crowd=CROWD))
    with pytest.raises(ValueError, match="not by subset and crowd"):
        DataSpec.model_validate({"name": "synthpeople", "crowd": {}, "subset": {"pool": 100}})
