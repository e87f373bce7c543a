"""CelebA's 40 attributes, and hair colour in three classes made of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, Outline
from leakrange.data.samples import Attribute

__all__ = [
    "CELEBA_NAMES",
    "ONE_HAIR_COLOUR",
    "celeba_attributes",
    "celeba_labels",
    "hair_colour",
    "outline_with_hair_colour",
    "with_hair_colour",
]

CELEBA_NAMES = (
    "5_o_Clock_Shadow",
    "Arched_Eyebrows",
    "Attractive",
    "Bags_Under_Eyes",
    "Bald",
    "Bangs",
    "Big_Lips",
    "Big_Nose",
    "Black_Hair",
    "Blond_Hair",
    "Blurry",
    "Brown_Hair",
    "Bushy_Eyebrows",
    "Chubby",
    "Double_Chin",
    "Eyeglasses",
    "Goatee",
    "Gray_Hair",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Male",
    "Mouth_Slightly_Open",
    "Mustache",
    "Narrow_Eyes",
    "No_Beard",
    "Oval_Face",
    "Pale_Skin",
    "Pointy_Nose",
    "Receding_Hairline",
    "Rosy_Cheeks",
    "Sideburns",
    "Smiling",
    "Straight_Hair",
    "Wavy_Hair",
    "Wearing_Earrings",
    "Wearing_Hat",
    "Wearing_Lipstick",
    "Wearing_Necklace",
    "Wearing_Necktie",
    "Young",
)
"""CelebA's own names, in its order; here they are written ``5-o-clock-shadow``, ..., ``young``."""

HAIR = ("Black_Hair", "Blond_Hair", "Brown_Hair")


def _ours(name: str) -> str:
    return name.lower().replace("_", "-")


def celeba_attributes(people: int) -> Mapping[str, Attribute]:
    """All attributes of a CelebA set that shows so many people."""
    own = {_ours(name): Attribute(_ours(name), ("no", "yes"), f"CelebA's {name}") for name in CELEBA_NAMES}
    own["male"] = Attribute("male", ("female", "male"), "CelebA's Male")
    hair = Attribute("hair-color", ("black", "blond", "brown"), "-1 unless exactly one of them is marked")
    identity = Attribute("identity", tuple(f"person-{i}" for i in range(people)), "who is shown")
    return MappingProxyType(own | {"hair-color": hair, "identity": identity})


def celeba_labels(
    marks: Mapping[str, NDArray[np.int64]], identity: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Labels of all attributes, int64 (N,) each, from 0/1 per CelebA name and the person's number."""
    labels = {_ours(name): marks[name] for name in CELEBA_NAMES}
    return labels | {"hair-color": hair_colour(*(marks[name] for name in HAIR)), "identity": identity}


def hair_colour(
    black: NDArray[np.int64], blond: NDArray[np.int64], brown: NDArray[np.int64]
) -> NDArray[np.int64]:
    """0 black, 1 blond, 2 brown where exactly one is marked, else -1 (HBC Section 5.4 and Appendix F.1)."""
    marked = np.stack([black, blond, brown])
    return np.where(marked.sum(axis=0) == 1, marked.argmax(axis=0), -1).astype(np.int64)


ONE_HAIR_COLOUR = "only images with exactly one of black, blond and brown hair"


def with_hair_colour(every: Content) -> Content:
    """The images whose hair colour is known, as HBC's CelebA tables use them."""
    kept = every.labels["hair-color"] >= 0
    return outline_with_hair_colour(every).with_values(every.values[kept])


def outline_with_hair_colour(every: Outline) -> Outline:
    """What is told of these images."""
    kept = every.labels["hair-color"] >= 0
    return Outline(
        labels={name: values[kept] for name, values in every.labels.items()},
        group=None if every.group is None else every.group[kept],
        official=None if every.official is None else every.official[kept],
        notes=every.notes,
    )
