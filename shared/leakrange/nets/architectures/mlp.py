"""A small multilayer perceptron with batch norm, for rows of tables and vectors."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Mlp"]

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
