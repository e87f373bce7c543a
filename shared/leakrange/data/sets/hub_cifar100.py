"""CIFAR-100, from the Hugging Face hub."""

from __future__ import annotations

from types import MappingProxyType

from leakrange.data.catalogue import datasets
from leakrange.data.columns import Coded
from leakrange.data.hub import HubSet
from leakrange.data.samples import by_name
from leakrange.wire.samples import SampleSpec

__all__ = ["HubCIFAR100"]

HUB_OBJECTS = (
    "apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle", "bottle", "bowl",
    "boy", "bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar", "cattle", "chair",
    "chimpanzee", "clock", "cloud", "cockroach", "couch", "cra", "crocodile", "cup", "dinosaur", "dolphin",
    "elephant", "flatfish", "forest", "fox", "girl", "hamster", "house", "kangaroo", "keyboard", "lamp",
    "lawn_mower", "leopard", "lion", "lizard", "lobster", "man", "maple_tree", "motorcycle", "mountain",
    "mouse", "mushroom", "oak_tree", "orange", "orchid", "otter", "palm_tree", "pear", "pickup_truck",
    "pine_tree", "plain", "plate", "poppy", "porcupine", "possum", "rabbit", "raccoon", "ray", "road",
    "rocket", "rose", "sea", "seal", "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider",
    "squirrel", "streetcar", "sunflower", "sweet_pepper", "table", "tank", "telephone", "television",
    "tiger", "tractor", "train", "trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf",
    "woman", "worm",
)  # fmt: skip
"""The 100 classes in order, as the hub spells them."""
OBJECTS = tuple("crab" if name == "cra" else name for name in HUB_OBJECTS)

KINDS = (
    "aquatic_mammals", "fish", "flowers", "food_containers", "fruit_and_vegetables",
    "household_electrical_devices", "household_furniture", "insects", "large_carnivores",
    "large_man-made_outdoor_things", "large_natural_outdoor_scenes", "large_omnivores_and_herbivores",
    "medium_mammals", "non-insect_invertebrates", "people", "reptiles", "small_mammals", "trees",
    "vehicles_1", "vehicles_2",
)  # fmt: skip
"""The 20 groups of five, in order."""


@datasets.register("hub-cifar100")
class HubCIFAR100(HubSet):
    """60,000 small photographs of 100 kinds of things."""

    name = "hub-cifar100"
    description = "60,000 small photographs of 100 kinds of things in 20 groups, downloaded"
    attributes = by_name(
        Coded("object", OBJECTS, "what is shown", column="fine_label"),
        Coded("kind", KINDS, "its group of five", column="coarse_label"),
    )
    spec = SampleSpec.picture(32, 32, 3)
    source = "uoft-cs/cifar100 on the Hugging Face hub; A. Krizhevsky 2009, no licence stated"
    hub_id = "uoft-cs/cifar100"
    config = "cifar100"
    image_column = "img"
    codes = MappingProxyType({"fine_label": HUB_OBJECTS, "coarse_label": KINDS})
