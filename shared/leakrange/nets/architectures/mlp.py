"""Nets that take a sample as one vector: softmax regression on its values, and a small multilayer
perceptron."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["LinearClassifier", "Mlp"]


@nets.register("linear")
class LinearClassifier(Architecture):
    """One linear layer on the flattened, scaled sample; with two classes this is logistic regression.

    Its features, the vector that the last linear layer sees, are the scaled values themselves (channel by
    channel): a ``features`` release of this net gives the input away.
    """

    name = "linear"
    summary = "softmax regression on the values; logistic regression where there are two classes"
    samples_apart = True
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


WIDTHS = (128, 128, 64)
DROPOUT = 0.1


@nets.register("mlp")
class Mlp(Architecture):
    """Three blocks {linear layer, batch norm, ReLU} of 128, 128 and 64 values, and a linear layer on them.

    A picture or a series is taken as one long vector.
    """

    name = "mlp"
    summary = "three hidden layers with batch norm, for tables and vectors"
    paper = "TAPPFL"
    table = "in place of Table 3's for Loans and Adult"
    encodings = None

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`; 33,538 parameters for 64 columns, two classes, width 1."""
        from torch import nn

        from leakrange.nets.dropout import Dropout

        widths = [math.prod(spec.shape), *(scaled(full, width) for full in WIDTHS)]
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after, bias=False), nn.BatchNorm1d(after), nn.ReLU(inplace=True)]
        body = nn.Sequential(*layers)
        head = nn.Sequential(Dropout(DROPOUT), nn.Linear(widths[-1], classes))
        return body, head, widths[-1]
