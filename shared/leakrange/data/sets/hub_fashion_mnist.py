"""Fashion-MNIST, from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.class_names import FASHION_ITEMS
from leakrange.data.hub import HubSet, numbers
from leakrange.data.samples import Attribute
from leakrange.wire.samples import SampleSpec

__all__ = ["HubFashionMNIST"]

NAMES = MappingProxyType({"T - shirt / top": "T-shirt/top"})
"""The hub's spelling to the one of Fashion-MNIST's authors."""


@datasets.register("hub-fashion-mnist")
class HubFashionMNIST(HubSet):
    """70,000 photographs of clothes."""

    name = "hub-fashion-mnist"
    description = "70,000 photographs of clothes, downloaded"
    attributes = MappingProxyType({"item": Attribute("item", FASHION_ITEMS, "the article shown")})
    spec = SampleSpec.picture(28, 28, 1)
    source = "zalando-datasets/fashion_mnist on the Hugging Face hub; MIT"
    official_split = True
    hub_id = "zalando-datasets/fashion_mnist"
    config = "fashion_mnist"
    parts = MappingProxyType({"train": "train", "test": "test"})
    image_column = "image"
    label_columns = ("label",)

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """The article shown; the hub spells one of the names differently."""
        return {"item": numbers("label", [NAMES.get(v, v) for v in columns["label"]], FASHION_ITEMS)}
