"""UTKFace, from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.hub import HubSet, numbers
from leakrange.data.packed import require_range
from leakrange.data.utkface_classes import RACES, UTKFACE_ATTRIBUTES, utkface_labels
from leakrange.wire.samples import SampleSpec

__all__ = ["HubUTKFace"]


@datasets.register("hub-utkface")
class HubUTKFace(HubSet):
    """23,705 faces with age, gender and race."""

    name = "hub-utkface"
    description = "UTKFace: 23,705 faces with age, gender and race, downloaded"
    attributes = UTKFACE_ATTRIBUTES
    spec = SampleSpec.picture(64, 64, 3)
    source = "nu-delta/utkface on the Hugging Face hub; UTKFace is for non-commercial research only"
    hub_id = "nu-delta/utkface"
    config = None
    parts = MappingProxyType({"train": "train"})
    image_column = "image"
    label_columns = ("age", "gender", "ethnicity")
    notes = (
        "no official split: 20 % test, drawn with the data seed",
        "near-copies are not known, so some may be on both sides of the split",
    )

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """Gender, and the age and race classes of HBC's Tables 10 and 11."""
        race = ["Other" if str(v).casefold() == "others" else v for v in columns["ethnicity"]]
        return utkface_labels(
            require_range("age", np.array(columns["age"]), 0, 130),
            numbers("gender", columns["gender"], ("male", "female")),
            numbers("ethnicity", race, RACES),
        )
