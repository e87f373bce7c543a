"""CIFAR-10, from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.class_names import CIFAR10_ATTRIBUTES, CIFAR10_OBJECTS, cifar10_labels
from leakrange.data.hub import HubSet, numbers
from leakrange.wire.samples import SampleSpec

__all__ = ["HubCIFAR10"]


@datasets.register("hub-cifar10")
class HubCIFAR10(HubSet):
    """60,000 small photographs of animals and vehicles."""

    name = "hub-cifar10"
    description = "60,000 small photographs of animals and vehicles, downloaded"
    attributes = CIFAR10_ATTRIBUTES
    spec = SampleSpec.picture(32, 32, 3)
    source = "uoft-cs/cifar10 on the Hugging Face hub; A. Krizhevsky 2009, no licence stated"
    official_split = True
    hub_id = "uoft-cs/cifar10"
    config = "plain_text"
    parts = MappingProxyType({"train": "train", "test": "test"})
    image_column = "img"
    label_columns = ("label",)

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """What is shown, and whether it is an animal."""
        return cifar10_labels(numbers("label", columns["label"], CIFAR10_OBJECTS))
