from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leakrange.data import load
from leakrange.data.people import ROLES, Casting, cast
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable

CASTING = Casting(students=4, outsiders=6, public=8, fewest=3, plenty=6, most=9)


def crowd(seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Persons, groups and genders of the pictures of 40 people, 1 to 12 of each, in random order."""
    rng = np.random.default_rng(seed)
    count = np.append(rng.integers(1, 13, 20), rng.integers(8, 13, 20))
    person = rng.permutation(np.repeat(np.arange(40), count)) * 7
    group = np.arange(len(person))
    group[1] = group[0]  # a near-copy, as a rule of another person
    return person, group, (person // 7) % 2


@given(st.integers(0, 10_000))
def test_everybody_plays_one_part(seed: int) -> None:
    person, group, gender = crowd(seed)
    roles = cast(person, group, CASTING, seed, gender)
    who = person[roles.kept]
    people = {role: set(who[roles.role == number]) for number, role in enumerate(ROLES)}
    assert sum(map(len, people.values())) == len(set(who))
    assert [len(people[role]) for role in ("outsider", "student", "public")] == [6, 4, 8]
    pictures = {p: int((who == p).sum()) for p in set(who)}
    assert all(3 <= count <= 9 for count in pictures.values())
    assert all(pictures[p] >= 6 for role in ("outsider", "student") for p in people[role])
    member = roles.role == ROLES.index("member")
    assert (member == (roles.member >= 0)).all()
    assert sorted(set(roles.member[member])) == list(range(len(people["member"])))
    assert [(p // 7) % 2 for p in dict.fromkeys(who[np.argsort(roles.student)])][-4:] == [0, 1, 0, 1]
    shared = np.flatnonzero(group == group[0])
    if len(set(person[shared])) > 1:  # a photograph under two names would be member and non-member
        assert not set(shared) & set(roles.kept)


def test_the_seed_casts_anew_and_alike() -> None:
    person, group, gender = crowd(1)
    first, again, other = (cast(person, group, CASTING, seed, gender) for seed in (1, 1, 2))
    assert (first.kept == again.kept).all()
    assert (first.role == again.role).all()
    assert len(first.role) != len(other.role) or (first.role != other.role).any()


def test_too_few_people_are_refused() -> None:
    person, group, gender = crowd(1)
    few = person < 7 * 12
    with pytest.raises(DataUnavailable, match="too few"):
        cast(person[few], group[few], CASTING, 0, gender[few])


def test_a_teacher_is_trained_on_members_alone() -> None:
    people = load(DataSpec(name="synthpeople", size=32, validation=0.1, auxiliary=0.0))
    member = people.labels["role"] == ROLES.index("member")
    learned = np.concatenate([people.where("train"), people.where("validation")])
    assert set(learned) == set(np.flatnonzero(member))
    assert (people.labels["identity"][people.where("test")] == -1).all()
    assert not set(people.labels["person"][member]) & set(people.labels["person"][~member])
    # the drawn people's own attribute is theirs whatever their part
    for person in set(people.labels["person"][:300]):
        assert len(set(people.labels["facial-hair"][people.labels["person"] == person])) == 1
