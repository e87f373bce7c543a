"""A subset of CelebA with identities, packed."""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar

import numpy as np

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.celeba_attributes import CELEBA_NAMES, celeba_attributes, celeba_labels
from leakrange.data.packed import Arrays, PackedSet, require_classes, require_range
from leakrange.data.samples import SPLITS
from leakrange.wire.samples import SampleSpec

__all__ = ["CelebASub"]

PEOPLE = 299
PARTS = tuple(SPLITS.index(name) for name in ("train", "validation", "test"))
"""CelebA's partition 0, 1, 2 as indices into `SPLITS`."""


@datasets.register("celeba_sub")
class CelebASub(PackedSet):
    """6,230 faces of 299 people with CelebA's 40 attributes."""

    name = packed = "celeba_sub"
    description = "6,230 faces of 299 people with CelebA's 40 attributes, hair colour and identity"
    attributes = celeba_attributes(PEOPLE)
    spec = SampleSpec.picture(64, 64, 3)
    source = "CelebA, MMLAB, The Chinese University of Hong Kong; non-commercial research, no redistribution"
    official_split = True
    notes: ClassVar[tuple[str, ...]] = (
        "6,230 of CelebA's 202,599 images (3 %), aligned and cropped anew: not the set of published tables",
        "official partition; no person is on both sides of it, so identity cannot be learned here",
        "CelebA's attributes are known to be noisy",
    )
    layout = MappingProxyType(
        {
            "jpeg": ("uint8", 1),
            "offset": ("int64", 1),
            "identity": ("int32", 1),
            "attr": ("uint8", 2),
            "attr_names": ("str", 1),
            "part": ("uint8", 1),
            "group": ("int32", 1),
        }
    )

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """Attributes, official partition and groups of near-copies."""
        require_classes("attr_names", arrays["attr_names"], CELEBA_NAMES)
        attr = require_range("attr", arrays["attr"], 0, 1)
        marks = {name: attr[:, i].copy() for i, name in enumerate(CELEBA_NAMES)}
        part = require_range("part", arrays["part"], 0, len(PARTS) - 1)
        return Outline(
            labels=celeba_labels(marks, require_range("identity", arrays["identity"], 0, PEOPLE - 1)),
            group=arrays["group"].astype(np.int64),
            official=np.array(PARTS, dtype=np.uint8)[part],
        )
