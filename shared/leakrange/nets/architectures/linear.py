"""Softmax regression on the values: the classifier of limited capacity of Honest-but-Curious Nets, Section
3.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets
from leakrange.wire.samples import Encoding, SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["LinearClassifier"]


@nets.register("linear")
class LinearClassifier(Architecture):
    """One linear layer on the flattened, scaled sample; with two classes this is logistic regression.

    Its features, the vector that the last linear layer sees, are the scaled values themselves (channel by
    channel): a ``features`` release of this net gives the input away.
    """

    name: ClassVar[str] = "linear"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = (
        "softmax regression on the values; logistic regression where there are two classes"
    )
    paper: ClassVar[str] = "HBC"
    table: ClassVar[str] = "Section 3.1"
    encodings: ClassVar[tuple[Encoding, ...]] = ("picture", "series", "table", "vector")
    smallest: ClassVar[int] = 1

    @staticmethod
    def build(spec: SampleSpec, classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net of (values + 1)·classes parameters. There is no hidden layer: raises
        `ValueError` for a ``width`` other than 1."""
        from torch import nn

        from leakrange.nets.classifier import Classifier

        if width != 1.0:
            raise ValueError(f"net 'linear' has no layers to scale: its width is 1, not {width:g}")
        features = math.prod(spec.shape)
        return Classifier(
            nn.Flatten(), nn.Linear(features, classes), spec=spec, features=features, classes=classes
        )
