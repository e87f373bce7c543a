"""CelebA: a packed subset with identities, the whole set from the Hugging Face hub, and of both the part with
a defined hair colour, which is split by person."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, GivenSet, Outline, datasets
from leakrange.data.columns import Coded, Columns, Marked, require_range
from leakrange.data.hub import HubSet
from leakrange.data.packed import Arrays, PackedSet, layout_of
from leakrange.data.samples import SPLITS, Attribute, by_name
from leakrange.data.splits import connected, whole_groups
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

__all__ = ["CELEBA_NAMES", "CelebASub", "CelebASubHair", "CelebASubOtherHair", "HubCelebA", "HubCelebAHair"]

CELEBA_NAMES = (
    "5_o_Clock_Shadow", "Arched_Eyebrows", "Attractive", "Bags_Under_Eyes", "Bald", "Bangs", "Big_Lips",
    "Big_Nose", "Black_Hair", "Blond_Hair", "Blurry", "Brown_Hair", "Bushy_Eyebrows", "Chubby",
    "Double_Chin", "Eyeglasses", "Goatee", "Gray_Hair", "Heavy_Makeup", "High_Cheekbones", "Male",
    "Mouth_Slightly_Open", "Mustache", "Narrow_Eyes", "No_Beard", "Oval_Face", "Pale_Skin", "Pointy_Nose",
    "Receding_Hairline", "Rosy_Cheeks", "Sideburns", "Smiling", "Straight_Hair", "Wavy_Hair",
    "Wearing_Earrings", "Wearing_Hat", "Wearing_Lipstick", "Wearing_Necklace", "Wearing_Necktie", "Young",
)  # fmt: skip
"""CelebA's own names, in its order; here they are written ``5-o-clock-shadow``, ..., ``young``."""
HAIR = Marked(
    "hair-color",
    ("black", "blond", "brown"),
    "-1 unless exactly one of them is marked",
    marks=("Black_Hair", "Blond_Hair", "Brown_Hair"),
)
"""Hair colour as in HBC, Section 5.4 and Appendix F.1."""
NO_HAIR_COLOUR = "only images with none or several of black, blond and brown hair"
ONE_HAIR_COLOUR = "only images with exactly one of black, blond and brown hair"
SPLIT_BY_PERSON = "no person is in two splits"
NOISY = "CelebA's attributes are known to be noisy"
PACKED = (
    "6,230 of CelebA's 202,599 images (3 %), aligned and cropped anew: not the set of published tables",
    "official partition; no person is on both sides of it, so identity cannot be learned here",
    NOISY,
)
DOWNLOADED = (
    "the middle 148 x 148 pixels of the aligned images, shrunk to 64 x 64",
    "official partition with its own validation images; no person is on both sides of it",
    NOISY,
)
PEOPLE, HUB_PEOPLE = 299, 10_177
PARTS = tuple(SPLITS.index(name) for name in ("train", "validation", "test"))
"""CelebA's partition 0, 1, 2 as indices into `SPLITS`."""


def _mark(name: str) -> Coded:
    classes = ("female", "male") if name == "Male" else ("no", "yes")
    return Coded(name.lower().replace("_", "-"), classes, f"CelebA's {name}", column=name)


def _attributes(people: int, column: str) -> Mapping[str, Attribute]:
    """All attributes of a CelebA set with so many people, whose numbers are in the ``column``."""
    persons = tuple(f"person-{i}" for i in range(people))
    return by_name(*map(_mark, CELEBA_NAMES), HAIR, Coded("identity", persons, "who is shown", column=column))


@datasets.register("celeba_sub")
class CelebASub(PackedSet):
    """6,230 faces of 299 people with CelebA's 40 attributes."""

    name = folder = "celeba_sub"
    layouts = (("celeba_sub.npz",),)
    description = "6,230 faces of 299 people with CelebA's 40 attributes, hair colour and identity"
    attributes = _attributes(PEOPLE, "identity")
    person = "identity"
    spec = SampleSpec.picture(64, 64, 3)
    source = "CelebA, MMLAB, The Chinese University of Hong Kong; non-commercial research, no redistribution"
    official_split = True
    notes: ClassVar[tuple[str, ...]] = (
        *PACKED,
        "validation and auxiliary images show people of the training images",
    )
    layout = layout_of(identity="int32", attr=("uint8", 2), part="uint8", group="int32")

    spelling = MappingProxyType({"attr_names": CELEBA_NAMES})

    @classmethod
    def columns(cls, arrays: Arrays) -> Columns:
        """A column for each of the 40 attributes as well."""
        marks = require_range("attr", arrays["attr"], 0, 1)
        return {**arrays, **dict(zip(CELEBA_NAMES, marks.T, strict=True))}

    @classmethod
    def official(cls, columns: Columns) -> NDArray[np.uint8]:
        """CelebA's own partition."""
        part = require_range("part", columns["part"], 0, len(PARTS) - 1)
        return np.array(PARTS, dtype=np.uint8)[part]


@datasets.register("hub-celeba")
class HubCelebA(HubSet):
    """202,599 faces of 10,177 people with 40 attributes."""

    name = "hub-celeba"
    description = "CelebA: 202,599 faces of 10,177 people with 40 attributes, downloaded"
    attributes = _attributes(HUB_PEOPLE, "celeb_id")
    person = "identity"
    spec = SampleSpec.picture(64, 64, 3)
    source = "flwrlabs/celeba on the Hugging Face hub; CelebA release agreement, non-commercial research only"
    hub_id = "flwrlabs/celeba"
    config = "img_align+identity+attr"
    parts = MappingProxyType({"train": "train", "valid": "validation", "test": "test"})
    # CelebA numbers its people from 1.
    codes = MappingProxyType({"celeb_id": range(1, HUB_PEOPLE + 1), **dict.fromkeys(CELEBA_NAMES, range(2))})
    crop = 148
    notes: ClassVar[tuple[str, ...]] = (
        *DOWNLOADED,
        "auxiliary images show people of the training images",
    )


class _ByHair(GivenSet):
    """The images of a ``whole`` set whose hair colour is ``known``, as HBC's CelebA tables use them, or all
    others. The whole set is cached, or downloaded.

    Where CelebA's own split leaves validation and auxiliary images to be drawn, whole people are drawn.
    """

    whole: ClassVar[type[GivenSet]]
    known: ClassVar[bool] = True
    undivided = True
    version = 2

    @classmethod
    def content(cls) -> Content:
        """The selected images of the whole set's content."""
        every = cls.whole.content()
        return cls._cut(every).with_values(every.values[cls._kept(every)])

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The outline of the selected images."""
        return cls._cut(cls.whole.outline(spec))

    @classmethod
    def _kept(cls, every: Outline) -> NDArray[np.bool_]:
        return np.asarray((every.labels["hair-color"] >= 0) == cls.known)

    @classmethod
    def _cut(cls, every: Outline) -> Outline:
        kept = cls._kept(every)
        official, notes = every.official, every.notes
        if official is not None and every.group is not None:
            # Grouped over the whole set, so that both of its parts hold back the same people for testing.
            official = whole_groups(official, connected(every.group, every.labels["identity"]))
            moved = int((official != every.official)[kept].sum())
            notes += (f"official training images of people of whom a test image is a copy, tested: {moved}",)
        return Outline(
            labels={name: values[kept] for name, values in every.labels.items()},
            group=None if every.group is None else every.group[kept],
            official=None if official is None else official[kept],
            notes=notes,
        )


@datasets.register("celeba_sub-hair")
class CelebASubHair(_ByHair, CelebASub):
    """The part of `celeba_sub` with a defined hair colour."""

    name = "celeba_sub-hair"
    whole = CelebASub
    description = "celeba_sub, only images with exactly one of black, blond and brown hair"
    notes = (*PACKED, SPLIT_BY_PERSON, ONE_HAIR_COLOUR)


@datasets.register("celeba_sub-other-hair")
class CelebASubOtherHair(_ByHair, CelebASub):
    """The images that HBC's CelebA tables leave out: those marked with no hair colour, or with several."""

    name = "celeba_sub-other-hair"
    whole = CelebASub
    known = False
    description = "celeba_sub, only images with none or several of black, blond and brown hair"
    notes = (*PACKED, SPLIT_BY_PERSON, NO_HAIR_COLOUR)


@datasets.register("hub-celeba-hair")
class HubCelebAHair(_ByHair, HubCelebA):
    """The part of CelebA with a defined hair colour."""

    name = "hub-celeba-hair"
    whole = HubCelebA
    description = "CelebA, only images with exactly one of black, blond and brown hair, downloaded"
    notes = (*DOWNLOADED, SPLIT_BY_PERSON, ONE_HAIR_COLOUR)

    @classmethod
    def cached(cls) -> Path:
        """The file of the whole set."""
        return HubCelebA.cached()


@datasets.register("hub-celeba-other-hair")
class HubCelebAOtherHair(HubCelebAHair):
    """The images that HBC's CelebA tables leave out: those marked with no hair colour, or with several."""

    name = "hub-celeba-other-hair"
    known = False
    description = "CelebA, only images with none or several of black, blond and brown hair, downloaded"
    notes = (*DOWNLOADED, SPLIT_BY_PERSON, NO_HAIR_COLOUR)
