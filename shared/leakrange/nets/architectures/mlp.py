"""A small multilayer perceptron with batch norm, for rows of tables and vectors."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets
from leakrange.wire.samples import Encoding, SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["Mlp"]

WIDTHS = (128, 128, 64)
DROPOUT = 0.1


@nets.register("mlp")
class Mlp(Architecture):
    """Three blocks {linear layer, batch norm, ReLU} of 128, 128 and 64 values, and a linear layer on them.

    A series is taken as one long vector.
    """

    name: ClassVar[str] = "mlp"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "three hidden layers with batch norm, for tables and vectors"
    paper: ClassVar[str] = "TAPPFL"
    table: ClassVar[str] = "in place of Table 3's for Loans and Adult"
    encodings: ClassVar[tuple[Encoding, ...]] = ("series", "table", "vector")
    smallest: ClassVar[int] = 1

    @staticmethod
    def build(spec: SampleSpec, classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net; 33,538 parameters for 64 columns, two classes, width 1."""
        from torch import nn

        from leakrange.nets.classifier import Classifier
        from leakrange.nets.dropout import Dropout

        if reason := Mlp.misfit(spec):
            raise ValueError(reason)
        widths = [math.prod(spec.shape), *(max(1, round(full * width)) for full in WIDTHS)]
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after, bias=False), nn.BatchNorm1d(after), nn.ReLU(inplace=True)]
        body = nn.Sequential(*layers)
        head = nn.Sequential(Dropout(DROPOUT), nn.Linear(widths[-1], classes))
        return Classifier(body, head, spec=spec, features=widths[-1], classes=classes)
