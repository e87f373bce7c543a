"""Fashion-MNIST, packed and from the Hugging Face hub."""

from __future__ import annotations

from types import MappingProxyType

from leakrange.data.catalogue import datasets
from leakrange.data.columns import Coded
from leakrange.data.hub import HubSet
from leakrange.data.packed import TrainTestSet
from leakrange.data.samples import by_name
from leakrange.wire.samples import SampleSpec

__all__ = ["FASHION_ITEMS", "FashionMNIST", "HubFashionMNIST"]

FASHION_ITEMS = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip


@datasets.register("fashion_mnist")
class FashionMNIST(TrainTestSet):
    """70,000 photographs of clothes."""

    name = folder = "fashion_mnist"
    layouts = (("fashion_mnist.npz",),)
    description = "70,000 photographs of clothes"
    attributes = by_name(Coded("item", FASHION_ITEMS, "the article shown", column="label"))
    spec = SampleSpec.picture(28, 28, 1)
    source = "Fashion-MNIST, Zalando Research; MIT"
    spelling = MappingProxyType({"classes": FASHION_ITEMS})


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
    # The hub spells one of the names differently than Fashion-MNIST's authors.
    codes = MappingProxyType(
        {"label": {name: i for i, name in enumerate(FASHION_ITEMS)} | {"T - shirt / top": 0}}
    )
