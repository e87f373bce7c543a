"""Who is who under one seed: who is attacked, who sets a threshold, whose gender is guessed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.pairs import pairs_within
from leakrange.attacks.people.questions import FOLDS
from leakrange.data.people import ROLES
from leakrange.data.samples import Samples
from leakrange.data.splits import shuffled, stream
from leakrange.reproduction.faceleaks.settings import Settings
from leakrange.wire.errors import InvalidInput

__all__ = ["Enrolment", "Pairs", "Records", "Targets", "enrolment", "records", "targets", "threshold_pairs"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Targets:
    """The people attacked: ``images`` (people, m), indices of theirs; ``member`` (people,), whether the
    teacher has learned these images; ``tested`` (people,), whether they are of the test half (signs and
    parameters are chosen on the others)."""

    images: Indices
    member: NDArray[np.bool_]
    tested: NDArray[np.bool_]


@dataclass(frozen=True)
class Pairs:
    """Pairs of images (P, 2), whether both show one person (P,), and their fold (P,)."""

    images: Indices
    same: NDArray[np.bool_]
    fold: Indices


@dataclass(frozen=True)
class Enrolment:
    """The people that a student recognises: images to learn from and to test with, and their classes."""

    learned: Indices
    learned_class: Indices
    held: Indices
    held_class: Indices


@dataclass(frozen=True)
class Records:
    """Images of people whom the teacher does not know, with an attribute: whose is guessed (``target``),
    whose is known to the attacker (``auxiliary``, in random order), and one of each of some reference
    people."""

    target: Indices
    auxiliary: Indices
    references: Indices


def targets(people: Samples, settings: Settings, seed: int) -> Targets:
    """As many members as outsiders. Raises `InvalidInput` where there are too few."""
    rng = stream(seed, "targets")
    wanted = settings.validated + settings.tested
    chosen, member = [], []
    for role, split in (("member", "train"), ("outsider", "test")):
        found = _of_people(people, role, split, settings.images, rng)
        if len(found) < wanted:
            raise InvalidInput(
                f"{len(found)} people of role {role!r} have {settings.images} images; {wanted} are needed",
                hint="attack fewer people, or with fewer images each",
            )
        chosen += found[:wanted]
        member += [role == "member"] * wanted
    tested = np.tile(np.arange(wanted) >= settings.validated, 2)
    return Targets(np.array(chosen), np.array(member), tested)


def threshold_pairs(people: Samples, seed: int, most: int = 3000) -> Pairs:
    """As many pairs of one person as of two, all of the public; a person's pairs lie in one fold, and a pair
    of two people is of one fold's people."""
    rng = stream(seed, "threshold")
    public = _with_role(people, "public")
    person = people.labels["person"][public]
    ids = np.unique(person)
    fold_of = dict(zip(ids, shuffled(rng, len(ids)) % FOLDS, strict=True))
    fold = np.array([fold_of[p] for p in person])
    pairs, same = pairs_within(fold, person)
    alike = np.flatnonzero(same)
    alike = alike[shuffled(rng, len(alike))[: most // 2]]
    unlike = np.flatnonzero(~same)
    unlike = unlike[shuffled(rng, len(unlike))[: len(alike)]]
    kept = np.concatenate([alike, unlike])
    return Pairs(public[pairs[kept]], same[kept], fold[pairs[kept, 0]].astype(np.int64))


def enrolment(people: Samples, settings: Settings, classes: int, seed: int) -> Enrolment:
    """The first ``classes`` of the student's people: four fifths of the images to learn from (the paper holds
    back 20 %), as many as asked for, and up to ten others of each to test with."""
    rng = stream(seed, "enrolment")
    learned: list[NDArray[np.int64]] = []
    held: list[NDArray[np.int64]] = []
    for number in range(classes):
        images = np.flatnonzero(people.labels["student"] == number)
        if len(images) <= settings.enrolled:
            raise InvalidInput(f"class {number} of the student has {len(images)} images")
        images = images[shuffled(rng, len(images))]
        learned.append(images[: settings.enrolled])
        held.append(images[settings.enrolled : settings.enrolled + 10])
    return Enrolment(
        np.concatenate(learned),
        np.repeat(np.arange(classes), [len(part) for part in learned]),
        np.concatenate(held),
        np.repeat(np.arange(classes), [len(part) for part in held]),
    )


def records(people: Samples, attribute: str, count: int, references: int, seed: int) -> Records:
    """``count`` target and ``count`` auxiliary images, as many of either class of ``attribute`` and, where
    the set has sources, of either source, as there are; no person is on both sides or a reference."""
    rng = stream(seed, "records")
    known = people.labels[attribute] >= 0
    strangers = np.isin(people.labels["role"], [ROLES.index(role) for role in ("public", "outsider")])
    pool = np.flatnonzero(known & strangers)
    person = people.labels["person"]
    ids = np.unique(person[pool])
    ids = ids[shuffled(rng, len(ids))]
    own = {p: pool[person[pool] == p] for p in ids}
    refs: list[int] = []
    for number in range(references):  # of the classes in turn
        wanted = number % len(people.attributes[attribute].classes)
        found = next((p for p in ids if p in own and people.labels[attribute][own[p][0]] == wanted), None)
        if found is None:
            lacking = people.attributes[attribute].classes[wanted]
            raise InvalidInput(
                f"{people.name!r} has too few strangers of {attribute} {lacking!r} to refer to",
                hint=f"give the data set what tells {attribute}, or leave out the part on attributes",
            )
        refs.append(int(own.pop(found)[0]))
    left = [p for p in ids if p in own]
    sides = (left[: len(left) // 2], left[len(left) // 2 :])
    target, auxiliary = (
        _balanced(people, attribute, np.concatenate([own[p] for p in side]), count, rng) for side in sides
    )
    return Records(target, auxiliary, np.array(refs))


def _balanced(
    people: Samples, attribute: str, images: Indices, count: int, rng: np.random.Generator
) -> Indices:
    """``count`` of the images in random order, from the cells of class and source in turn."""
    images = images[shuffled(rng, len(images))]
    source = people.labels.get("source", np.zeros(len(people), dtype=np.int64))
    cell = people.labels[attribute][images] * 2 + source[images]
    turn = np.empty(len(images), dtype=np.int64)
    for one in np.unique(cell):
        turn[cell == one] = np.arange((cell == one).sum())
    if len(images) < count:
        raise InvalidInput(f"{len(images)} images for {count} records", hint="ask for fewer records")
    return images[np.argsort(turn, kind="stable")][:count]


def _with_role(people: Samples, role: str) -> Indices:
    return np.flatnonzero(people.labels["role"] == ROLES.index(role)).astype(np.int64)


def _of_people(people: Samples, role: str, split: str, count: int, rng: np.random.Generator) -> list[Indices]:
    """``count`` images of everybody of ``role`` who has so many in ``split``, people in random order."""
    images = np.intersect1d(_with_role(people, role), people.where(split))
    person = people.labels["person"][images]
    found = []
    for one in np.unique(person):
        own = images[person == one]
        if len(own) >= count:
            found.append(own[shuffled(rng, len(own))[:count]])
    return [found[i] for i in shuffled(rng, len(found))]
