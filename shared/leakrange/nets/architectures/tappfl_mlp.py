"""TAPPFL's feature extractor for rows of tables, with a head for the task that is learned on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["TappflMlp"]

WIDTHS = (64, 128)
HEAD = 64


@nets.register("tappfl-mlp")
class TappflMlp(Architecture):
    """Linear layers of 64 and 128 values, each with ReLU; on these 128 features a head of 64 values and one
    output for each class. The net has no batch norm, whose statistics devices could not average.

    The paper does not print a head; its first layers are the extractor. A picture or a series is taken as one
    vector.
    """

    name = "tappfl-mlp"
    summary = "two linear layers as an extractor that devices learn together, for tables and vectors"
    paper = "TAPPFL"
    table = "Table 3, Loans and Adult"
    encodings = None

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.initial import he_normal

        first, features, middle = (scaled(full, width) for full in (*WIDTHS, HEAD))
        body = nn.Sequential(
            nn.Flatten(),
            nn.Linear(math.prod(spec.shape), first),
            nn.ReLU(inplace=True),
            nn.Linear(first, features),
            nn.ReLU(inplace=True),
        )
        head = nn.Sequential(nn.Linear(features, middle), nn.ReLU(inplace=True), nn.Linear(middle, classes))
        return he_normal(body), head, features
