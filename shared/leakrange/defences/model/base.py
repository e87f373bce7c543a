"""What a model defence is, and the registry of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from leakrange.defences.stages import Parameters
from leakrange.registry import Registry

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["ModelDefence", "model_defences"]

P = TypeVar("P", bound=Parameters)


class ModelDefence(ABC, Generic[P]):
    """A change of a classifier that is deterministic: the same file gives the same model on every device.
    Subclasses set the class variables and register themselves in `model_defences`.
    """

    Parameters: ClassVar[type[Parameters]]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    equation: ClassVar[str] = ""
    shorthand: ClassVar[str | None] = None
    """The parameter that a bare value sets, as in ``{prune: 0.5}``."""

    def __init__(self, parameters: P) -> None:
        self.parameters = parameters

    @abstractmethod
    def apply(self, classifier: Classifier) -> Classifier:
        """A changed copy, in eval mode; ``classifier`` stays as it is."""


model_defences: Registry[type[ModelDefence[Any]]] = Registry("model defence", "leakrange.defences.model")
