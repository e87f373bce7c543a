"""Representation defences: a device uploads features instead of a sample, made by an extractor that devices
learn together. A new defence is one file; listing them needs no deep learning framework."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from leakrange.defences.stages import Defence, P
from leakrange.registry import Registry

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["RepresentationDefence", "representation_defences"]


class RepresentationDefence(Defence[P]):
    """A body for the classifier that a device runs. The device uploads its features, and the provider, who
    trains a head on them, decides. Subclasses set the class variables and register themselves in
    `representation_defences`."""

    @abstractmethod
    def apply(self, classifier: Classifier) -> Classifier:
        """Make a classifier with the extractor as its body, in eval mode; ``classifier`` does not change.
        Raises `InvalidInput` where its head was trained for other features."""


representation_defences: Registry[type[RepresentationDefence[Any]]] = Registry(
    "representation defence", "leakrange.defences.representation"
)
