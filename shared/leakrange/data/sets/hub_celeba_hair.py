"""The part of CelebA on which hair colour is defined, from the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from leakrange.data.catalogue import Content, Outline, datasets
from leakrange.data.celeba_attributes import ONE_HAIR_COLOUR, outline_with_hair_colour, with_hair_colour
from leakrange.data.sets.hub_celeba import HubCelebA
from leakrange.jobs.recipe import DataSpec

__all__ = ["HubCelebAHair"]


@datasets.register("hub-celeba-hair")
class HubCelebAHair(HubCelebA):
    """The images marked with exactly one of black, blond and brown hair, as HBC's CelebA tables use them."""

    name = "hub-celeba-hair"
    description = "CelebA, only images with exactly one of black, blond and brown hair, downloaded"
    notes: ClassVar[tuple[str, ...]] = (*HubCelebA.notes, ONE_HAIR_COLOUR)

    @classmethod
    def cached(cls) -> Path:
        """The file of the whole set."""
        return HubCelebA.cached()

    @classmethod
    def content(cls) -> Content:
        """`HubCelebA`'s content without the images of unknown or several hair colours."""
        return with_hair_colour(HubCelebA.content())

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The same of `HubCelebA`'s."""
        return outline_with_hair_colour(HubCelebA.outline(spec))
