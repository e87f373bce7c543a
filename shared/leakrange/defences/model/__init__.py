"""Model defences: changes that a device makes to a downloaded model before it runs it. A new
defence is one file; listing them needs no deep learning framework."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from leakrange.defences.stages import Defence, P
from leakrange.registry import Registry

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["ModelDefence", "model_defences"]


class ModelDefence(Defence[P]):
    """A change of a classifier that is deterministic: the same file gives the same model on every device.
    Subclasses set the class variables and register themselves in `model_defences`."""

    @abstractmethod
    def apply(self, classifier: Classifier) -> Classifier:
        """Make a changed copy, in eval mode; ``classifier`` does not change."""


model_defences: Registry[type[ModelDefence[Any]]] = Registry("model defence", "leakrange.defences.model")
