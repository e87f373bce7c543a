"""Softmax regression on the values: the classifier of limited capacity of Honest-but-Curious Nets, Section
3.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["LinearClassifier"]


@nets.register("linear")
class LinearClassifier(Architecture):
    """One linear layer on the flattened, scaled sample; with two classes this is logistic regression.

    Its features, the vector that the last linear layer sees, are the scaled values themselves (channel by
    channel): a ``features`` release of this net gives the input away.
    """

    name = "linear"
    summary = "softmax regression on the values; logistic regression where there are two classes"
    paper = "HBC"
    table = "Section 3.1"
    encodings = None

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`; (values + 1)·classes parameters. There is no hidden layer: raises
        `ValueError` for a ``width`` other than 1."""
        from torch import nn

        if width != 1.0:
            raise ValueError(f"net 'linear' has no layers to scale: its width is 1, not {width:g}")
        features = math.prod(spec.shape)
        return nn.Flatten(), nn.Linear(features, classes), features
