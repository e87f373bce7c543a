"""Labeled Faces in the Wild, packed."""

from __future__ import annotations

from leakrange.data.catalogue import datasets
from leakrange.data.columns import Coded
from leakrange.data.packed import PackedSet, layout_of
from leakrange.data.samples import by_name
from leakrange.wire.samples import SampleSpec

__all__ = ["LFW"]

PEOPLE = 5747


@datasets.register("lfw")
class LFW(PackedSet):
    """13,231 faces of 5,747 people with gender. People's names stay in the file."""

    name = folder = "lfw"
    layouts = (("lfw.npz",),)
    description = "13,231 faces of 5,747 people with gender and identity"
    person = "identity"
    attributes = by_name(
        Coded("gender", ("female", "male"), "0 female, 1 male; -1 for 9 images", unknown=True),
        Coded("identity", tuple(f"person-{i}" for i in range(PEOPLE)), "who is shown"),
    )
    spec = SampleSpec.picture(64, 64, 3)
    source = "LFW, University of Massachusetts Amherst; research use, the photographs belong to their owners"
    notes = (
        "no training split is official: 20 % test, drawn by group of near-copies with the data seed",
        "most people have one image; people may be on both sides of the split",
    )
    layout = layout_of(identity="int32", gender="int8", group="int32")
