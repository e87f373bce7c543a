"""Architectures by name. An entry builds a `leakrange.nets.classifier.Classifier`; listing them needs no
deep learning framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from leakrange.registry import Registry

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["Architecture", "nets"]


class Architecture(Protocol):
    """A registered family of classifiers, scaled by image size, channels, number of classes and width."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    table: ClassVar[str]
    smallest: ClassVar[int]
    """The smallest side of an image, in pixels, that it takes."""

    @staticmethod
    def build(shape: tuple[int, int, int], classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net for images of ``shape`` (height, width, channels); draws from torch's
        generator."""
        ...


nets: Registry[type[Architecture]] = Registry("net", "leakrange.nets.architectures")
