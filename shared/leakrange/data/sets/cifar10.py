"""CIFAR-10, packed."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.class_names import CIFAR10_ATTRIBUTES, CIFAR10_OBJECTS, cifar10_labels
from leakrange.data.packed import Arrays, PackedSet, require_classes, require_range
from leakrange.data.samples import SPLITS
from leakrange.wire.samples import SampleSpec

__all__ = ["CIFAR10"]


@datasets.register("cifar10")
class CIFAR10(PackedSet):
    """60,000 small photographs of animals and vehicles."""

    name = packed = "cifar10"
    description = "60,000 small photographs of animals and vehicles"
    attributes = CIFAR10_ATTRIBUTES
    spec = SampleSpec.picture(32, 32, 3)
    source = "CIFAR-10, A. Krizhevsky 2009; no licence stated"
    official_split = True
    notes = ("pixels carry JPEG loss against the original arrays",)
    layout = MappingProxyType(
        {
            "jpeg": ("uint8", 1),
            "offset": ("int64", 1),
            "label": ("uint8", 1),
            "test": ("bool", 1),
            "classes": ("str", 1),
        }
    )

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """Labels and official split."""
        require_classes("classes", arrays["classes"], CIFAR10_OBJECTS)
        return Outline(
            labels=cifar10_labels(require_range("label", arrays["label"], 0, 9)),
            official=np.where(arrays["test"], SPLITS.index("test"), SPLITS.index("train")).astype(np.uint8),
        )
