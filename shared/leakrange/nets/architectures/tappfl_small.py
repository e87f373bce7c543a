"""A small feature extractor for pictures, for federations on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["TappflSmall"]

WIDTHS = (16, 32, 32)
FEATURES = 128
HEAD = 64


@nets.register("tappfl-small")
class TappflSmall(Architecture):
    """Three convolutions 3×3 of stride 2 with ReLU and a linear layer: 128 features; then a head of 64
    values. The net does a hundredth of the work of the paper's, and like that one has no batch norm."""

    name = "tappfl-small"
    summary = "three strided convolutions as an extractor that devices learn together, for pictures"
    paper = "TAPPFL"
    table = "in place of Table 3's for CIFAR10"
    encodings = ("picture",)
    smallest = 8

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.initial import he_normal

        height, breadth, before = spec.shape
        layers: list[nn.Module] = []
        for full in WIDTHS:
            after = scaled(full, width)
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU(inplace=True)]
            height, breadth, before = (height + 1) // 2, (breadth + 1) // 2, after
        features, middle = scaled(FEATURES, width), scaled(HEAD, width)
        flat = before * height * breadth
        body = nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, features), nn.ReLU(inplace=True))
        head = nn.Sequential(nn.Linear(features, middle), nn.ReLU(inplace=True), nn.Linear(middle, classes))
        return he_normal(body), head, features
