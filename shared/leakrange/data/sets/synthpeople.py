"""Drawn people, cast into the parts of a face recognition service: for everybody without photographs."""

from __future__ import annotations

import numpy as np

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.faces.traits import FACE_ATTRIBUTES, IDENTITIES
from leakrange.data.people import Casting, Roles, cast, people_attributes
from leakrange.data.sets.synthfaces import SynthFaces
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

__all__ = ["SynthPeople"]

CASTING = Casting(students=10, outsiders=60, public=60, plenty=10)
FIXED = FACE_ATTRIBUTES["facial-hair"]
"""Attribute of the person in the place of gender."""


@datasets.register("synthpeople")
class SynthPeople(DataSet):
    """`synthfaces`, its 256 invented people cast: 126 members, 60 outsiders, 10 for a student, 60 public.

    Fewer pictures than the default leave people with too few, and then members are missing first.
    """

    name = "synthpeople"
    description = "synthfaces, its invented people cast as members and others (FACELEAKS)"
    person = "person"
    attributes = people_attributes(IDENTITIES, CASTING, FIXED, FACE_ATTRIBUTES["glasses"])
    spec = SampleSpec.picture(64, 64, 3)
    source = SynthFaces.source
    official_split = True
    default_count = 6144
    notes = SynthFaces.notes

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """The people as ``spec.seed`` draws and casts them."""
        drawn = SynthFaces.read(cls._drawn(spec))
        outline, roles = _people(drawn, spec.seed)
        return outline.with_values(drawn.values[roles.kept])

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The same people; nothing is drawn."""
        return _people(SynthFaces.outline(cls._drawn(spec)), spec.seed)[0]

    @classmethod
    def _drawn(cls, spec: DataSpec) -> DataSpec:
        return spec.model_copy(update={"count": spec.count or cls.default_count})


def _people(drawn: Outline, seed: int) -> tuple[Outline, Roles]:
    roles = cast(drawn.labels["identity"], np.arange(len(drawn)), CASTING, seed)
    return roles.outline({name: drawn.labels[name] for name in (FIXED.name, "glasses")}), roles
