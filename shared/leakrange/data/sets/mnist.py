"""MNIST, packed and from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.digit_attributes import DIGIT_ATTRIBUTES, digit_labels
from leakrange.data.hub import HubSet, numbers
from leakrange.data.train_test import TrainTestSet
from leakrange.wire.samples import SampleSpec

__all__ = ["MNIST", "HubMNIST"]


@datasets.register("mnist")
class MNIST(TrainTestSet):
    """70,000 handwritten digits."""

    name = folder = "mnist"
    layouts = (("mnist.npz",),)
    description = "70,000 handwritten digits"
    attributes = DIGIT_ATTRIBUTES
    spec = SampleSpec.picture(28, 28, 1)
    source = "MNIST, LeCun, Cortes and Burges; commonly listed as CC BY-SA 3.0"

    @classmethod
    def labels(cls, label: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Attributes of the digits."""
        return digit_labels(label)


@datasets.register("hub-mnist")
class HubMNIST(HubSet):
    """The same digits as the hub has them."""

    name = "hub-mnist"
    description = "70,000 handwritten digits, downloaded"
    attributes = DIGIT_ATTRIBUTES
    spec = MNIST.spec
    source = "ylecun/mnist on the Hugging Face hub; MIT there, commonly listed as CC BY-SA 3.0"
    hub_id = "ylecun/mnist"
    config = "mnist"
    label_columns = ("label",)

    @classmethod
    def labels(cls, columns: Mapping[str, list[Any]]) -> dict[str, NDArray[np.int64]]:
        """Attributes of the digits."""
        return digit_labels(numbers("label", columns["label"], "0123456789"))
