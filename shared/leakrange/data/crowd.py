"""The people around a face recognition service: an attacker's targets, its honest users, and the people that
it was trained to recognise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.people import ROLES
from leakrange.data.samples import POOL, SPLITS, Labelled
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.recipe import Crowd
from leakrange.wire.errors import InvalidInput

__all__ = [
    "CAST",
    "PARTS",
    "PHOTOGRAPHS",
    "PUBLIC_IMAGES",
    "asked_order",
    "crowd_parts",
    "learnt_by_the_public",
    "part_sizes",
    "strangers",
]

Recast = TypeVar("Recast", bound=Labelled)

CAST = frozenset({"person", "role", "student"})
"""Attributes that sets of cast people have, and no others."""
PARTS = ("public", "faces", "photographs", "enrolled", "held")
"""Parts of a set with a crowd, beside its pool: images of the public; these and then the pool's, for
comparisons between both; an attacker's own photographs of its targets; images of a student's people to learn
from, and other images of these."""
PUBLIC_IMAGES = 4
"""Images of each person of the public: the least that every cast person has."""
PHOTOGRAPHS = 3
"""Most photographs that the attacker has of each target: others than those that it asks about."""
STRANGERS = 10
"""Fewest people to choose an epoch by."""
HELD_BACK = 10
"""Every tenth image of the public chooses the epoch of a recogniser that is trained on them."""


def crowd_parts(images: Labelled, crowd: Crowd, seed: int) -> Mapping[str, NDArray[np.int64]]:
    """The pool and `PARTS` of a set of cast people, int64 indices of images.

    Each part has first one image of every person, then a second one of every person in the same order, and so
    on. So in a pool of P people the image at place k shows person k mod P, and a smaller budget means fewer
    images of everybody. Members and outsiders of the pool are in random order; a member's images are among
    those that the teacher trains on. ``seed`` decides the order.

    Raises `InvalidInput` where the set's people are not cast, or too few have so many images.
    """
    if not set(images.attributes) >= CAST:
        raise InvalidInput(
            f"data set {images.name!r} has no cast people to make a crowd of",
            hint="take one with the attributes person, role and student, or leave out 'crowd'",
        )
    rng = stream(seed, "targets")
    members = _of_role(images, "member", "train", crowd.images, crowd.people, rng)
    others = _of_role(images, "outsider", "test", crowd.images, crowd.people, rng)
    targets = [*members, *others]
    students = _students(images, crowd, stream(seed, "enrolment"))
    public = _round(_of_role(images, "public", "test", PUBLIC_IMAGES, crowd.public, stream(seed, "public")))
    pool = _round([targets[number] for number in asked_order(crowd, seed)])
    return {
        POOL: pool,
        "public": public,
        "faces": np.concatenate([public, pool]),
        "photographs": _photographs(images, pool, public[0], crowd.asked),
        "enrolled": _round([indices[: crowd.enrolled] for indices in students]),
        "held": _round([indices[crowd.enrolled :] for indices in students]),
    }


def part_sizes(crowd: Crowd) -> Mapping[str, int]:
    """Numbers of images in the pool and in each of `PARTS`; no data is loaded for them."""
    pool, public = crowd.asked * crowd.images, crowd.public * PUBLIC_IMAGES
    return {
        POOL: pool,
        "public": public,
        "faces": public + pool,
        "photographs": crowd.asked * PHOTOGRAPHS,
        "enrolled": crowd.students * crowd.enrolled,
        "held": crowd.students * crowd.held,
    }


def learnt_by_the_public(images: Recast) -> Recast:
    """The images with the public's to train on, and to choose the epoch by; all others are test images of
    nobody."""
    public = images.labels["role"] == ROLES.index("public")
    split = np.full(len(images), SPLITS.index("test"), dtype=np.uint8)
    split[public] = SPLITS.index("train")
    split[public & (np.cumsum(public) % HELD_BACK == 0)] = SPLITS.index("validation")
    person = np.where(public, images.labels["person"], -1)
    return replace(images, split=split, labels=dict(images.labels) | {"person": person})


def strangers(images: Labelled) -> NDArray[np.int64]:
    """Ascending indices of the pictures of people of the public who are not among the crowd's users: neither
    members nor outsiders, nobody who is learnt or asked about.

    Raises `InvalidInput` where the set has no crowd, and where it leaves fewer than `STRANGERS` of them.
    """
    if "public" not in images.parts:
        raise InvalidInput(
            f"data set {images.name!r} has no crowd, so nobody in it is a stranger to the model",
            hint="let 'select' be best or last",
        )
    person = images.labels["person"]
    others = (images.labels["role"] == ROLES.index("public")) & (images.split == SPLITS.index("test"))
    others &= ~np.isin(person, person[images.where("public")])
    if (count := len(np.unique(person[others]))) < STRANGERS:
        raise InvalidInput(
            f"{count} of the public are no users; {STRANGERS} are needed to choose an epoch by",
            hint="let the crowd have fewer 'public' people",
        )
    return np.flatnonzero(others).astype(np.int64)


def asked_order(crowd: Crowd, seed: int) -> NDArray[np.int64]:
    """The number of the person at each place of a round of the pool (P,): members have the first numbers, and
    are at random places."""
    member = shuffled(stream(seed, "asked"), crowd.asked) < crowd.people
    return np.where(member, np.cumsum(member) - 1, crowd.people + np.cumsum(~member) - 1)


def _photographs(
    images: Labelled, pool: NDArray[np.int64], stranger: np.int64, asked: int
) -> NDArray[np.int64]:
    """`PHOTOGRAPHS` of each target, none of which is in the pool. Where a person has fewer, the image of a
    ``stranger`` takes their place."""
    photographs = np.full((asked, PHOTOGRAPHS), stranger, dtype=np.int64)
    free = np.setdiff1d(np.arange(len(images)), pool)
    person = images.labels["person"]
    for place, target in enumerate(person[pool[:asked]]):
        indices = free[person[free] == target][:PHOTOGRAPHS]
        photographs[place, : len(indices)] = indices
    return photographs.T.ravel()


def _round(people: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.stack(people, axis=1).ravel()


def _of_role(
    images: Labelled, role: str, split: str, count: int, people: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """``count`` images of each of ``people`` of the ``role``, images and people in random order."""
    of_role = np.flatnonzero(images.labels["role"] == ROLES.index(role))
    in_split = np.intersect1d(of_role, images.where(split))
    person = images.labels["person"][in_split]
    drawn = []
    for each in np.unique(person):
        indices = in_split[person == each]
        if len(indices) >= count:
            drawn.append(indices[shuffled(rng, len(indices))[:count]])
    return [drawn[i] for i in shuffled(rng, len(drawn))[: _enough(len(drawn), people, role, count, images)]]


def _students(images: Labelled, crowd: Crowd, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Images of each of a student's people, in the order of its classes: the enrolled, then those held
    back."""
    count = crowd.enrolled + crowd.held
    tested = images.where("test")
    drawn = []
    for number in range(crowd.students):
        indices = tested[images.labels["student"][tested] == number]
        if len(indices) >= count:
            drawn.append(indices[shuffled(rng, len(indices))[:count]])
    return drawn[: _enough(len(drawn), crowd.students, "student", count, images)]


def _enough(available: int, people: int, role: str, count: int, images: Labelled) -> int:
    if available < people:
        raise InvalidInput(
            f"{available} people of role {role!r} in {images.name!r} have {count} images; {people} are "
            "needed",
            hint="let the crowd have fewer people or images, or give no share of 'auxiliary' or 'limit'",
        )
    return people
