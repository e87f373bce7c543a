"""Softmax regression on the pixels: the classifier of limited capacity of Honest-but-Curious Nets, Section
3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import nets

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["LinearClassifier"]


@nets.register("linear")
class LinearClassifier:
    """One linear layer on the flattened, scaled image; with two classes this is logistic regression.

    Its features, the vector that the last linear layer sees, are the scaled pixels themselves (channel by
    channel): a ``features`` release of this net gives the input away.
    """

    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = (
        "softmax regression on the pixels; logistic regression where there are two classes"
    )
    paper: ClassVar[str] = "HBC"
    table: ClassVar[str] = "Section 3.1"
    smallest: ClassVar[int] = 1

    @staticmethod
    def build(shape: tuple[int, int, int], classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net of (H·W·C + 1)·classes parameters. There is no hidden layer: raises
        `ValueError` for a ``width`` other than 1."""
        from torch import nn

        from leakrange.nets.classifier import Classifier

        if width != 1.0:
            raise ValueError(f"net 'linear' has no layers to scale: its width is 1, not {width:g}")
        height, breadth, channels = shape
        features = height * breadth * channels
        return Classifier(
            nn.Flatten(), nn.Linear(features, classes), shape=shape, features=features, classes=classes
        )
