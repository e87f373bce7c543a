"""The subset of CelebA on which hair colour is defined."""

from __future__ import annotations

from typing import ClassVar

from leakrange.data.catalogue import Content, Outline, datasets
from leakrange.data.celeba_attributes import ONE_HAIR_COLOUR, outline_with_hair_colour, with_hair_colour
from leakrange.data.sets.celeba_sub import CelebASub
from leakrange.jobs.recipe import DataSpec

__all__ = ["CelebASubHair"]


@datasets.register("celeba_sub-hair")
class CelebASubHair(CelebASub):
    """The images marked with exactly one of black, blond and brown hair, as HBC's CelebA tables use them."""

    name = "celeba_sub-hair"
    description = "celeba_sub, only images with exactly one of black, blond and brown hair"
    notes: ClassVar[tuple[str, ...]] = (*CelebASub.notes, ONE_HAIR_COLOUR)

    @classmethod
    def content(cls) -> Content:
        """`CelebASub`'s content without the images of unknown or several hair colours."""
        return with_hair_colour(CelebASub.content())

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The same of `CelebASub`'s."""
        return outline_with_hair_colour(CelebASub.outline(spec))
