"""Photographed people of two packed sets, cast into the parts of a face recognition service."""

from __future__ import annotations

import numpy as np

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.people import Casting, Roles, cast, people_attributes
from leakrange.data.samples import Attribute
from leakrange.data.sets.celeba import CelebASub
from leakrange.data.sets.lfw import LFW
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

__all__ = ["People"]

CASTING = Casting(students=20, outsiders=100, public=282)
PEOPLE = 891


@datasets.register("people")
class People(DataSet):
    """Everybody of `celeba_sub` and `lfw` with four pictures or more, at most thirty of each.

    The data seed casts them: 489 members, on whom a teacher is trained, 100 outsiders, 20 people whom a
    student learns to recognise, 282 of the public. The members' pictures are the training images (with the
    share for ``validation`` out of them), all others test images; attribute ``role`` distinguishes them. Give
    a share of 0 for ``auxiliary``, since the public serves for that.
    """

    name = "people"
    description = "faces of 891 people of celeba_sub and lfw, cast as members and others (FACELEAKS)"
    person = "person"
    attributes = people_attributes(
        PEOPLE,
        CASTING,
        Attribute("gender", ("female", "male"), "-1 for a few images"),
        Attribute("source", (CelebASub.name, LFW.name), "the set that the image comes from"),
    )
    spec = SampleSpec.picture(64, 64, 3)
    source = f"{CelebASub.source}; {LFW.source}"
    official_split = True
    notes = (
        "two sets in one, whose crops and photographs differ; members and others are drawn from both",
        "gender as the two sets mark it, with their errors; a few people may be in both sets",
    )

    @classmethod
    def available(cls) -> str | None:
        """None where both files exist."""
        return CelebASub.available() or LFW.available()

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """The people as ``spec.seed`` casts them."""
        celeba, lfw = CelebASub.content(), LFW.content()
        outline, roles = _people(celeba, lfw, spec.seed)
        return outline.with_values(np.concatenate([celeba.values, lfw.values])[roles.kept])

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The same people without their pictures."""
        return _people(CelebASub.outline(spec), LFW.outline(spec), spec.seed)[0]


def _people(celeba: Outline, lfw: Outline, seed: int) -> tuple[Outline, Roles]:
    parts = (celeba, lfw)
    person = np.concatenate([celeba.labels["identity"], lfw.labels["identity"] + 10**6])
    groups = [part.group for part in parts if part.group is not None]
    group = np.concatenate([groups[0], groups[1] + groups[0].max() + 1])
    gender = np.concatenate([celeba.labels["male"], lfw.labels["gender"]])
    source = np.repeat((0, 1), [len(part) for part in parts])
    roles = cast(person, group, CASTING, seed, gender)
    return roles.outline({"gender": gender, "source": source}, group), roles
