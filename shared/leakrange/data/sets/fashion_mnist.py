"""Fashion-MNIST, packed."""

from __future__ import annotations

from types import MappingProxyType

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.class_names import FASHION_ITEMS
from leakrange.data.packed import Arrays, require_classes, require_range
from leakrange.data.samples import Attribute
from leakrange.data.train_test import TrainTestSet, test_last
from leakrange.wire.samples import SampleSpec

__all__ = ["FashionMNIST"]


@datasets.register("fashion_mnist")
class FashionMNIST(TrainTestSet):
    """70,000 photographs of clothes."""

    name = packed = "fashion_mnist"
    description = "70,000 photographs of clothes"
    attributes = MappingProxyType({"item": Attribute("item", FASHION_ITEMS, "the article shown")})
    spec = SampleSpec.picture(28, 28, 1)
    source = "Fashion-MNIST, Zalando Research; MIT"
    layout = MappingProxyType({**TrainTestSet.layout, "classes": ("str", 1)})

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """The official split and the articles."""
        require_classes("classes", arrays["classes"], FASHION_ITEMS)
        label, official = test_last(arrays)
        labels = {"item": require_range("y_train, y_test", label, 0, 9)}
        return Outline(labels=labels, official=official)
