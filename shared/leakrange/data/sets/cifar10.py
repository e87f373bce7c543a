"""CIFAR-10, packed and from the Hugging Face hub."""

from __future__ import annotations

from types import MappingProxyType

from leakrange.data.catalogue import datasets
from leakrange.data.columns import Coded
from leakrange.data.hub import HubSet
from leakrange.data.packed import PackedSet, layout_of
from leakrange.data.samples import by_name
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
        Coded("object", CIFAR10_OBJECTS, "what is shown", column="label"),
        Coded(
            "animal",
            ("vehicle", "animal"),
            "whether it is an animal",
            column="label",
            into=[int(name in ANIMALS) for name in CIFAR10_OBJECTS],
        ),
    )
    spec = SampleSpec.picture(32, 32, 3)
    source = "CIFAR-10, A. Krizhevsky 2009; no licence stated"
    official_split = True
    notes = ("pixels carry JPEG loss against the original arrays",)
    layout = layout_of(label="uint8", test="bool")
    spelling = MappingProxyType({"classes": CIFAR10_OBJECTS})


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
    codes = MappingProxyType({"label": CIFAR10_OBJECTS})
