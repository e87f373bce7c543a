"""MNIST, packed and from the Hugging Face hub."""

from __future__ import annotations

from types import MappingProxyType

from leakrange.data.catalogue import datasets
from leakrange.data.hub import HubSet
from leakrange.data.packed import TrainTestSet
from leakrange.data.sets.digits import DIGIT_ATTRIBUTES
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
    codes = MappingProxyType({"label": "0123456789"})
