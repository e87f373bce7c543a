"""The roles of the people in a set of faces: members, outsiders, a student's classes, the public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Outline
from leakrange.data.samples import Attribute, by_name, train_or_test
from leakrange.data.splits import shuffled, stream
from leakrange.wire.errors import DataUnavailable

__all__ = ["ROLES", "Casting", "Roles", "cast", "people_attributes"]

ROLES = ("member", "outsider", "student", "public")
"""Roles of people. ``member``: the teacher learns the person's pictures. ``outsider``: a non-member of a
membership test. ``student``: a person that a fine-tuned student recognises. ``public``: a person whom
attackers and providers may use for their own ends (auxiliary models, thresholds, reference people). No person
has two roles."""
MEMBER, OUTSIDER, STUDENT, PUBLIC = range(len(ROLES))


@dataclass(frozen=True)
class Casting:
    """Numbers of people by role; all others are members.

    People with fewer than ``fewest`` pictures are left out, and so are pictures beyond a person's first
    ``most`` in a random order. Outsiders and a student's classes have at least ``plenty`` pictures each.
    """

    students: int
    outsiders: int
    public: int
    fewest: int = 4
    plenty: int = 15
    most: int = 30


@dataclass(frozen=True)
class Roles:
    """The pictures that are kept, ascending indices (K,), and for each of them its role, an index into
    `ROLES`, its person, 0 .. people − 1, its member's number, 0 .. members − 1, or −1, and its number among
    the student's classes, or −1: int64 (K,) each."""

    kept: NDArray[np.int64]
    role: NDArray[np.int64]
    person: NDArray[np.int64]
    member: NDArray[np.int64]
    student: NDArray[np.int64]

    def outline(
        self,
        labels: Mapping[str, NDArray[np.int64]],
        group: NDArray[np.int64] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Outline:
        """The pictures that are kept, with the attributes of `people_attributes`. Members' pictures are
        training samples, all others test samples. labels, group: of all pictures, (N,)."""
        cast_labels = {"identity": self.member, "person": self.person, "role": self.role}
        further = {name: values[self.kept] for name, values in labels.items()}
        return Outline(
            labels=cast_labels | {"student": self.student} | further,
            group=None if group is None else group[self.kept],
            official=train_or_test(self.role != MEMBER),
            notes=notes,
        )


def cast(
    person: NDArray[np.int64],
    group: NDArray[np.int64],
    casting: Casting,
    seed: int,
    gender: NDArray[np.int64] | None = None,
) -> Roles:
    """Give every person one role, at random by ``seed``.

    person, group: int64 (N,); groups of near-copies that show two people are left out, for they would carry
    pictures of members among the others. gender: int64 (N,), −1 where unknown; with it the student's classes
    are of its two values in turn. The public is drawn first from the people with fewer than ``plenty``
    pictures. Raises `DataUnavailable` where there are too few people.
    """
    rng = stream(seed, "roles")
    kept = _kept(person, group, casting, rng)
    ids, index, count = np.unique(person[kept], return_inverse=True, return_counts=True)
    order = shuffled(rng, len(ids))
    many = order[count[order] >= casting.plenty]
    needed = casting.students + casting.outsiders
    if len(many) < needed or len(ids) <= needed + casting.public:
        raise DataUnavailable(
            f"{len(ids)} people with {casting.fewest} or more pictures, {len(many)} of them with "
            f"{casting.plenty} or more: too few for {casting.students} classes of a student, "
            f"{casting.outsiders} outsiders, {casting.public} public people and some members",
            hint="take more pictures",
        )
    students = _students(many, casting.students, None if gender is None else _first(gender[kept], index))
    outsiders = [p for p in many if p not in set(students)][: casting.outsiders]
    with_role = {*students, *outsiders}
    rest = [p for p in order if p not in with_role]
    public = sorted(rest, key=lambda p: count[p] >= casting.plenty)[: casting.public]

    roles = np.full(len(ids), MEMBER)
    roles[students], roles[outsiders], roles[public] = STUDENT, OUTSIDER, PUBLIC
    member = np.where(roles == MEMBER, np.cumsum(roles == MEMBER) - 1, -1)
    enrolled = np.full(len(ids), -1)
    enrolled[students] = np.arange(len(students))
    return Roles(kept, roles[index], index.astype(np.int64), member[index], enrolled[index])


def people_attributes(people: int, casting: Casting, *further: Attribute) -> Mapping[str, Attribute]:
    """The attributes of a set of at most so many people, who are cast. ``further`` are those that the set has
    besides."""
    persons = tuple(f"person-{i}" for i in range(people))
    members = range(people - casting.students - casting.outsiders - casting.public)
    return by_name(
        Attribute("identity", tuple(f"member-{i}" for i in members), "which member is shown; -1 for others"),
        Attribute("person", persons, "who is shown"),
        Attribute("role", ROLES, "the part that the person plays; changes with the data seed"),
        Attribute("student", persons[: casting.students], "which class of a student; -1 for others"),
        *further,
    )


def _kept(
    person: NDArray[np.int64], group: NDArray[np.int64], casting: Casting, rng: np.random.Generator
) -> NDArray[np.int64]:
    shown = np.unique(np.stack([group, person]), axis=1)[0]
    groups, people = np.unique(shown, return_counts=True)
    place = shuffled(rng, len(person))
    place = place[~np.isin(group[place], groups[people > 1])]
    place = place[np.argsort(person[place], kind="stable")]  # by person, in a random order within
    _, first, count = np.unique(person[place], return_index=True, return_counts=True)
    rank = np.arange(len(place)) - np.repeat(first, count)
    enough = np.repeat(count >= casting.fewest, count)
    return np.sort(place[enough & (rank < casting.most)]).astype(np.int64)


def _first(values: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The most frequent value among each person's pictures."""
    return np.array([np.bincount(values[index == p] + 1).argmax() - 1 for p in range(index.max() + 1)])


def _students(many: NDArray[np.intp], count: int, gender: NDArray[np.int64] | None) -> list[np.intp]:
    if gender is None:
        return list(many[:count])
    halves = [list(many[gender[many] == value]) for value in (0, 1)]
    if min(len(halves[0]), len(halves[1])) < (count + 1) // 2:
        raise DataUnavailable(f"there are not {count} people, half of either gender, with enough pictures")
    return [halves[place % 2][place // 2] for place in range(count)]
