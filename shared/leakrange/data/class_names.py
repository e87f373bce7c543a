"""Names of the classes of public sets, shared by their packed and their downloaded form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Attribute

__all__ = ["CIFAR10_ATTRIBUTES", "CIFAR10_OBJECTS", "FASHION_ITEMS", "cifar10_labels"]

FASHION_ITEMS = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)

CIFAR10_OBJECTS = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
ANIMALS = ("bird", "cat", "deer", "dog", "frog", "horse")

CIFAR10_ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "object": Attribute("object", CIFAR10_OBJECTS, "what is shown"),
        "animal": Attribute("animal", ("vehicle", "animal"), "whether it is an animal"),
    }
)


def cifar10_labels(label: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Labels of `CIFAR10_ATTRIBUTES`, int64 (N,) each, from class numbers 0..9."""
    animal = np.isin(label, [CIFAR10_OBJECTS.index(name) for name in ANIMALS])
    return {"object": label, "animal": animal.astype(np.int64)}
