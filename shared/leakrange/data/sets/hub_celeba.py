"""CelebA, from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.celeba_attributes import CELEBA_NAMES, celeba_attributes, celeba_labels
from leakrange.data.hub import HubSet
from leakrange.data.packed import require_range
from leakrange.wire.samples import SampleSpec

__all__ = ["HubCelebA"]

PEOPLE = 10_177


@datasets.register("hub-celeba")
class HubCelebA(HubSet):
    """202,599 faces of 10,177 people with 40 attributes."""

    name = "hub-celeba"
    description = "CelebA: 202,599 faces of 10,177 people with 40 attributes, downloaded"
    attributes = celeba_attributes(PEOPLE)
    spec = SampleSpec.picture(64, 64, 3)
    source = "flwrlabs/celeba on the Hugging Face hub; CelebA release agreement, non-commercial research only"
    official_split = True
    hub_id = "flwrlabs/celeba"
    config = "img_align+identity+attr"
    parts = MappingProxyType({"train": "train", "valid": "validation", "test": "test"})
    image_column = "image"
    label_columns = ("celeb_id", *CELEBA_NAMES)
    crop = 148
    notes: ClassVar[tuple[str, ...]] = (
        "the middle 148 x 148 pixels of the aligned images, shrunk to 64 x 64",
        "official partition with its own validation images; no person is on both sides of it",
        "CelebA's attributes are known to be noisy",
    )

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """Attributes and people; CelebA numbers its people from 1."""
        marks = {name: np.array(columns[name]).astype(np.int64) for name in CELEBA_NAMES}
        person = require_range("celeb_id", np.array(columns["celeb_id"]).astype(np.int64) - 1, 0, PEOPLE - 1)
        return celeba_labels(marks, person)
