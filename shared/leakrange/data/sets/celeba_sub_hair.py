"""The subset of CelebA on which hair colour is defined."""

from __future__ import annotations

from typing import ClassVar

from leakrange.data.catalogue import Content, datasets
from leakrange.data.sets.celeba_sub import CelebASub

__all__ = ["CelebASubHair"]


@datasets.register("celeba_sub-hair")
class CelebASubHair(CelebASub):
    """The images marked with exactly one of black, blond and brown hair, as HBC's CelebA tables use them."""

    name = "celeba_sub-hair"
    description = "celeba_sub, only images with exactly one of black, blond and brown hair"
    notes: ClassVar[tuple[str, ...]] = (
        *CelebASub.notes,
        "only images with exactly one of black, blond and brown hair",
    )

    @classmethod
    def content(cls) -> Content:
        """`CelebASub`'s content without the images of unknown or several hair colours."""
        every = CelebASub.content()
        assert every.group is not None
        assert every.official is not None
        kept = every.labels["hair-color"] >= 0
        return Content(
            images=every.images[kept],
            labels={name: values[kept] for name, values in every.labels.items()},
            group=every.group[kept],
            official=every.official[kept],
        )
