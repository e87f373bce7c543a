"""UTKFace, part 1, packed."""

from __future__ import annotations

from types import MappingProxyType

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.packed import Arrays, PackedSet, require_classes, require_range
from leakrange.data.utkface_classes import RACES, UTKFACE_ATTRIBUTES, utkface_labels
from leakrange.wire.samples import SampleSpec

__all__ = ["UTKFace"]


@datasets.register("utkface")
class UTKFace(PackedSet):
    """9,596 faces with age, gender and race."""

    name = packed = "utkface"
    description = "9,596 faces with age, gender and race: 40 % of UTKFace"
    attributes = UTKFACE_ATTRIBUTES
    spec = SampleSpec.picture(64, 64, 3)
    source = "UTKFace, part 1 of the aligned and cropped faces; non-commercial research only"
    notes = (
        "9,596 of UTKFace's 23,708 images (40 %), richer in children: not the set of published tables",
        "no official split: 20 % test, drawn by group with the data seed",
        "labels were estimated by an algorithm and checked by one annotator",
    )
    layout = MappingProxyType(
        {
            "jpeg": ("uint8", 1),
            "offset": ("int64", 1),
            "age": ("uint8", 1),
            "gender": ("uint8", 1),
            "race": ("uint8", 1),
            "races": ("str", 1),
            "group": ("int32", 1),
        }
    )

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """Classes of HBC's Tables 10 and 11, and groups of near-copies."""
        require_classes("races", arrays["races"], RACES)
        labels = utkface_labels(
            require_range("age", arrays["age"], 0, 130),
            require_range("gender", arrays["gender"], 0, 1),
            require_range("race", arrays["race"], 0, len(RACES) - 1),
        )
        return Outline(labels=labels, group=arrays["group"].astype("int64"))
