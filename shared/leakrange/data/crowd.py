"""Whom a face recognition service meets: the people asked after, its honest users, those whom it knows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leakrange.data.people import ROLES
from leakrange.data.samples import POOL, Labelled
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.recipe import Crowd
from leakrange.wire.errors import InvalidInput

__all__ = ["CAST", "PARTS", "PUBLIC_IMAGES", "crowd_parts", "part_sizes"]

CAST = frozenset({"person", "role", "student"})
"""Attributes that sets of cast people have, and no others."""
PARTS = ("public", "enrolled", "held")
"""Parts of a set with a crowd, beside its pool: images of the public, of a student's people to learn from,
and other images of these."""
PUBLIC_IMAGES = 4
"""Of each of the public: what every cast person has at least."""


def crowd_parts(images: Labelled, crowd: Crowd, seed: int) -> Mapping[str, NDArray[np.int64]]:
    """The pool and `PARTS` of a set of cast people, int64 indices of images.

    Each part goes round: first one image of every person, then a second one of every person in the same
    order, and so on. So of a pool of P people the image at place k shows the person k mod P, and whoever
    may ask less asks about fewer images of everybody. Members and outsiders of the pool are in random order;
    a member's images are such as the teacher trains on. The order is ``seed``'s.

    Raises `InvalidInput` where the set's people are not cast, or too few have so many images.
    """
    if not set(images.attributes) >= CAST:
        raise InvalidInput(
            f"data set {images.name!r} has no cast people to make a crowd of",
            hint="take one with the attributes person, role and student, or leave out 'crowd'",
        )
    rng = stream(seed, "crowd")
    member = _of_role(images, "member", "train", crowd.images, crowd.people, rng)
    outsider = _of_role(images, "outsider", "test", crowd.images, crowd.people, rng)
    asked = [*member, *outsider]
    students = _of_role(
        images, "student", "test", crowd.enrolled + crowd.held, crowd.students, rng, by="student"
    )
    public = _of_role(images, "public", "test", PUBLIC_IMAGES, crowd.public, rng)
    return {
        POOL: _round([asked[i] for i in shuffled(rng, len(asked))]),
        "public": _round(public),
        "enrolled": _round([own[: crowd.enrolled] for own in students]),
        "held": _round([own[crowd.enrolled :] for own in students]),
    }


def part_sizes(crowd: Crowd) -> Mapping[str, int]:
    """How many images the pool and each of `PARTS` have: told without the pictures."""
    return {
        POOL: crowd.asked * crowd.images,
        "public": crowd.public * PUBLIC_IMAGES,
        "enrolled": crowd.students * crowd.enrolled,
        "held": crowd.students * crowd.held,
    }


def _round(people: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.stack(people, axis=1).ravel()


def _of_role(
    images: Labelled,
    role: str,
    split: str,
    count: int,
    people: int,
    rng: np.random.Generator,
    by: str = "person",
) -> list[NDArray[np.int64]]:
    """``count`` images of each of ``people`` of the ``role``, in random order; a student's in their order."""
    of_role = np.flatnonzero(images.labels["role"] == ROLES.index(role))
    found = np.intersect1d(of_role, images.where(split))
    who = images.labels[by][found]
    _, index, total = np.unique(who, return_inverse=True, return_counts=True)
    enough = np.flatnonzero(total >= count)
    if len(enough) < people:
        raise InvalidInput(
            f"{len(enough)} people of role {role!r} in {images.name!r} have {count} images; "
            f"{people} are needed",
            hint="let the crowd have fewer people or images, or give no share of 'auxiliary' or 'limit'",
        )
    chosen = enough[:people] if by == "student" else enough[shuffled(rng, len(enough))[:people]]
    kept = []
    for place in chosen:
        own = found[index == place]
        kept.append(own[shuffled(rng, len(own))[:count]])
    return kept
