"""MNIST, from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.digit_attributes import DIGIT_ATTRIBUTES, digit_labels
from leakrange.data.hub import HubSet, numbers
from leakrange.wire.samples import SampleSpec

__all__ = ["HubMNIST"]


@datasets.register("hub-mnist")
class HubMNIST(HubSet):
    """70,000 handwritten digits."""

    name = "hub-mnist"
    description = "70,000 handwritten digits, downloaded"
    attributes = DIGIT_ATTRIBUTES
    spec = SampleSpec.picture(28, 28, 1)
    source = "ylecun/mnist on the Hugging Face hub; MIT there, commonly listed as CC BY-SA 3.0"
    official_split = True
    hub_id = "ylecun/mnist"
    config = "mnist"
    parts = MappingProxyType({"train": "train", "test": "test"})
    image_column = "image"
    label_columns = ("label",)

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """Attributes of the digits."""
        return digit_labels(numbers("label", columns["label"], "0123456789"))
