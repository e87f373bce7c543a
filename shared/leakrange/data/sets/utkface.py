"""UTKFace, part 1 packed and the whole from the Hugging Face hub, with the age and race classes of
"Honest-but-Curious Nets", Tables 10 and 11."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

from leakrange.data.catalogue import datasets
from leakrange.data.columns import Coded
from leakrange.data.hub import HubSet
from leakrange.data.packed import PackedSet, layout_of
from leakrange.data.samples import Attribute, by_name
from leakrange.wire.samples import SampleSpec

__all__ = ["RACES", "HubUTKFace", "UTKFace"]

RACES = ("White", "Black", "Asian", "Indian", "Other")
"""UTKFace's own race numbers 0..4."""
YEARS = range(131)
"""Ages that UTKFace may give."""

AGE_BOUNDS = ((30,), (20, 35), (21, 29, 45), (19, 26, 34, 49))
"""Table 10: in two to five classes, the last year of each class but the last. (Its "30 > a" must read "30 <
a".)"""

RACE_CLASSES = (
    (("White",), ("Black", "Asian", "Indian", "Other")),
    (("White",), ("Asian",), ("Black", "Indian", "Other")),
    (("White",), ("Black",), ("Indian",), ("Asian", "Other")),
    (("White",), ("Black",), ("Asian",), ("Indian",), ("Other",)),
)
"""Table 11: in two to five classes, the races of each."""


def _age(bounds: tuple[int, ...]) -> Coded:
    between = [f"{low + 1}-{high}" for low, high in pairwise(bounds)]
    names = (f"to {bounds[0]}", *between, f"over {bounds[-1]}")
    about = f"age in {len(names)} classes, years (HBC Table 10)"
    into = [sum(year > last for last in bounds) for year in YEARS]
    return Coded(f"age-{len(names)}", names, about, column="age", into=into)


def _race(classes: tuple[tuple[str, ...], ...], column: str) -> Coded:
    about = f"race in {len(classes)} classes (HBC Table 11)"
    into = [next(i for i, races in enumerate(classes) if race in races) for race in RACES]
    return Coded(f"race-{len(classes)}", tuple(map("/".join, classes)), about, column=column, into=into)


def _attributes(race_column: str) -> Mapping[str, Attribute]:
    return by_name(
        Coded("gender", ("male", "female"), "UTKFace's coding: 0 male, 1 female"),
        *map(_age, AGE_BOUNDS),
        *(_race(classes, race_column) for classes in RACE_CLASSES),
    )


@datasets.register("utkface")
class UTKFace(PackedSet):
    """9,596 faces with age, gender and race."""

    name = folder = "utkface"
    layouts = (("utkface.npz",),)
    description = "9,596 faces with age, gender and race: 40 % of UTKFace"
    attributes = _attributes("race")
    spec = SampleSpec.picture(64, 64, 3)
    source = "UTKFace, part 1 of the aligned and cropped faces; non-commercial research only"
    notes = (
        "9,596 of UTKFace's 23,708 images (40 %), richer in children: not the set of published tables",
        "no official split: 20 % test, drawn by group with the data seed",
        "labels were estimated by an algorithm and checked by one annotator",
    )
    layout = layout_of(age="uint8", gender="uint8", race="uint8", group="int32")
    spelling = MappingProxyType({"races": RACES})


@datasets.register("hub-utkface")
class HubUTKFace(HubSet):
    """23,705 faces with age, gender and race."""

    name = "hub-utkface"
    description = "UTKFace: 23,705 faces with age, gender and race, downloaded"
    attributes = _attributes("ethnicity")
    spec = UTKFace.spec
    source = "nu-delta/utkface on the Hugging Face hub; UTKFace is for non-commercial research only"
    official_split = False
    hub_id = "nu-delta/utkface"
    parts = MappingProxyType({"train": "train"})
    codes = MappingProxyType(
        {
            "age": YEARS,
            "gender": ("male", "female"),
            "ethnicity": {race: i for i, race in enumerate(RACES)} | {"Others": RACES.index("Other")},
        }
    )
    notes = (
        "no official split: 20 % test, drawn with the data seed",
        "near-copies are not known, so some may be on both sides of the split",
    )
