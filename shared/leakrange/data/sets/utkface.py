"""UTKFace, part 1 packed and the whole from the Hugging Face hub, with the age and race classes of
"Honest-but-Curious Nets", Tables 10 and 11."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.hub import HubSet, numbers
from leakrange.data.packed import Arrays, PackedSet, require_classes, require_range
from leakrange.data.samples import Attribute, by_name
from leakrange.wire.samples import SampleSpec

__all__ = ["RACES", "HubUTKFace", "UTKFace"]

RACES = ("White", "Black", "Asian", "Indian", "Other")
"""UTKFace's own race numbers 0..4."""

AGE_BOUNDS: Mapping[int, tuple[int, ...]] = MappingProxyType(
    {2: (30,), 3: (20, 35), 4: (21, 29, 45), 5: (19, 26, 34, 49)}
)
"""Table 10: by the number of classes, the last year of each class but the last. (Its "30 > a" must read "30 <
a".)"""

RACE_CLASSES: Mapping[int, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        2: (("White",), ("Black", "Asian", "Indian", "Other")),
        3: (("White",), ("Asian",), ("Black", "Indian", "Other")),
        4: (("White",), ("Black",), ("Indian",), ("Asian", "Other")),
        5: (("White",), ("Black",), ("Asian",), ("Indian",), ("Other",)),
    }
)
"""Table 11: by the number of classes, the races of each."""


def _age_names(bounds: tuple[int, ...]) -> tuple[str, ...]:
    between = [f"{low + 1}-{high}" for low, high in pairwise(bounds)]
    return (f"to {bounds[0]}", *between, f"over {bounds[-1]}")


@datasets.register("utkface")
class UTKFace(PackedSet):
    """9,596 faces with age, gender and race."""

    name = folder = "utkface"
    layouts = (("utkface.npz",),)
    description = "9,596 faces with age, gender and race: 40 % of UTKFace"
    attributes = by_name(
        Attribute("gender", ("male", "female"), "UTKFace's coding: 0 male, 1 female"),
        *(
            Attribute(f"age-{n}", _age_names(bounds), f"age in {n} classes, years (HBC Table 10)")
            for n, bounds in AGE_BOUNDS.items()
        ),
        *(
            Attribute(f"race-{n}", tuple(map("/".join, classes)), f"race in {n} classes (HBC Table 11)")
            for n, classes in RACE_CLASSES.items()
        ),
    )
    spec = SampleSpec.picture(64, 64, 3)
    source = "UTKFace, part 1 of the aligned and cropped faces; non-commercial research only"
    notes = (
        "9,596 of UTKFace's 23,708 images (40 %), richer in children: not the set of published tables",
        "no official split: 20 % test, drawn by group with the data seed",
        "labels were estimated by an algorithm and checked by one annotator",
    )
    layout = MappingProxyType(
        {
            "age": ("uint8", 1),
            "gender": ("uint8", 1),
            "race": ("uint8", 1),
            "races": ("str", 1),
            "group": ("int32", 1),
        }
    )

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """The classes, and groups of near-copies."""
        require_classes("races", arrays["races"], RACES)
        labels = _labels(
            require_range("age", arrays["age"], 0, 130),
            require_range("gender", arrays["gender"], 0, 1),
            require_range("race", arrays["race"], 0, len(RACES) - 1),
        )
        return Outline(labels=labels, group=arrays["group"].astype(np.int64))


@datasets.register("hub-utkface")
class HubUTKFace(HubSet):
    """23,705 faces with age, gender and race."""

    name = "hub-utkface"
    description = "UTKFace: 23,705 faces with age, gender and race, downloaded"
    attributes = UTKFace.attributes
    spec = UTKFace.spec
    source = "nu-delta/utkface on the Hugging Face hub; UTKFace is for non-commercial research only"
    official_split = False
    hub_id = "nu-delta/utkface"
    parts = MappingProxyType({"train": "train"})
    label_columns = ("age", "gender", "ethnicity")
    notes = (
        "no official split: 20 % test, drawn with the data seed",
        "near-copies are not known, so some may be on both sides of the split",
    )

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """The classes."""
        race = ["Other" if str(v).casefold() == "others" else v for v in columns["ethnicity"]]
        return _labels(
            require_range("age", np.array(columns["age"]), 0, 130),
            numbers("gender", columns["gender"], ("male", "female")),
            numbers("ethnicity", race, RACES),
        )


def _labels(
    age: NDArray[np.int64], gender: NDArray[np.int64], race: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Labels of all attributes, int64 (N,) each, from years, gender (0 male, 1 female) and race (an index
    into `RACES`).
    """
    labels = {"gender": gender}
    for n, bounds in AGE_BOUNDS.items():
        labels[f"age-{n}"] = np.searchsorted(bounds, age, side="left").astype(np.int64)
    for n, classes in RACE_CLASSES.items():
        table = [next(i for i, names in enumerate(classes) if race_name in names) for race_name in RACES]
        labels[f"race-{n}"] = np.array(table, dtype=np.int64)[race]
    return labels
