"""Fashion-MNIST, packed and from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.hub import HubSet, numbers
from leakrange.data.packed import Arrays, require_classes
from leakrange.data.samples import Attribute, by_name
from leakrange.data.train_test import TrainTestSet
from leakrange.wire.samples import SampleSpec

__all__ = ["FASHION_ITEMS", "FashionMNIST", "HubFashionMNIST"]

FASHION_ITEMS = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
HUB_ITEMS = MappingProxyType({"T - shirt / top": "T-shirt/top"})
"""Mapping from the hub's spelling to the one of Fashion-MNIST's authors."""


@datasets.register("fashion_mnist")
class FashionMNIST(TrainTestSet):
    """70,000 photographs of clothes."""

    name = folder = "fashion_mnist"
    layouts = (("fashion_mnist.npz",),)
    description = "70,000 photographs of clothes"
    attributes = by_name(Attribute("item", FASHION_ITEMS, "the article shown"))
    spec = SampleSpec.picture(28, 28, 1)
    source = "Fashion-MNIST, Zalando Research; MIT"
    layout = MappingProxyType({**TrainTestSet.layout, "classes": ("str", 1)})

    @classmethod
    def labels(cls, label: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """The articles."""
        return {"item": label}

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """The official split and the articles, whose names the file holds too."""
        require_classes("classes", arrays["classes"], FASHION_ITEMS)
        return super().unpack(arrays)


@datasets.register("hub-fashion-mnist")
class HubFashionMNIST(HubSet):
    """The same photographs as the hub has them."""

    name = "hub-fashion-mnist"
    description = "70,000 photographs of clothes, downloaded"
    attributes = FashionMNIST.attributes
    spec = FashionMNIST.spec
    source = "zalando-datasets/fashion_mnist on the Hugging Face hub; MIT"
    hub_id = "zalando-datasets/fashion_mnist"
    config = "fashion_mnist"
    label_columns = ("label",)

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """The articles; the hub spells one of the names differently."""
        return {"item": numbers("label", [HUB_ITEMS.get(v, v) for v in columns["label"]], FASHION_ITEMS)}
