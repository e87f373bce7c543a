"""CIFAR-10, packed and from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.hub import HubSet, numbers
from leakrange.data.packed import Arrays, PackedSet, require_classes, require_range
from leakrange.data.samples import Attribute, by_name, train_or_test
from leakrange.wire.samples import SampleSpec

__all__ = ["CIFAR10", "CIFAR10_OBJECTS", "HubCIFAR10"]

CIFAR10_OBJECTS = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
ANIMALS = ("bird", "cat", "deer", "dog", "frog", "horse")


@datasets.register("cifar10")
class CIFAR10(PackedSet):
    """60,000 small photographs of animals and vehicles."""

    name = folder = "cifar10"
    layouts = (("cifar10.npz",),)
    description = "60,000 small photographs of animals and vehicles"
    attributes = by_name(
        Attribute("object", CIFAR10_OBJECTS, "what is shown"),
        Attribute("animal", ("vehicle", "animal"), "whether it is an animal"),
    )
    spec = SampleSpec.picture(32, 32, 3)
    source = "CIFAR-10, A. Krizhevsky 2009; no licence stated"
    official_split = True
    notes = ("pixels carry JPEG loss against the original arrays",)
    layout = MappingProxyType({"label": ("uint8", 1), "test": ("bool", 1), "classes": ("str", 1)})

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """Labels and official split."""
        require_classes("classes", arrays["classes"], CIFAR10_OBJECTS)
        labels = _labels(require_range("label", arrays["label"], 0, 9))
        return Outline(labels=labels, official=train_or_test(arrays["test"]))


@datasets.register("hub-cifar10")
class HubCIFAR10(HubSet):
    """The original pixels of the same photographs."""

    name = "hub-cifar10"
    description = "60,000 small photographs of animals and vehicles, downloaded"
    attributes = CIFAR10.attributes
    spec = CIFAR10.spec
    source = "uoft-cs/cifar10 on the Hugging Face hub; A. Krizhevsky 2009, no licence stated"
    hub_id = "uoft-cs/cifar10"
    config = "plain_text"
    image_column = "img"
    label_columns = ("label",)

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """The object shown, and whether it is an animal."""
        return _labels(numbers("label", columns["label"], CIFAR10_OBJECTS))


def _labels(label: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    animal = np.isin(label, [CIFAR10_OBJECTS.index(name) for name in ANIMALS])
    return {"object": label, "animal": animal.astype(np.int64)}
