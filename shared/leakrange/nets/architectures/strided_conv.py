"""A small classifier without dropout for CPUs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["StridedConv"]

WIDTHS = (16, 32, 64)
FEATURES = 128


@nets.register("strided-conv")
class StridedConv(Architecture):
    """Three convolutions of stride 2 with batch norm, and two linear layers. Nothing in it is random: it
    releases the same for a sample each time, in training too."""

    name = "strided-conv"
    summary = "three strided convolutions and two linear layers, about 155 thousand parameters"
    paper = "VICIOUS"
    table = "in place of Appendix E.2's, which wants a GPU"
    encodings = ("picture",)
    smallest = 16

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        height, breadth, channels = spec.shape
        widths = [scaled(full, width) for full in WIDTHS]
        layers: list[nn.Module] = [nn.Conv2d(channels, widths[0], 3, stride=2, padding=1, bias=False)]
        for before, after in pairwise(widths):
            layers += [
                nn.BatchNorm2d(before),
                nn.ReLU(inplace=True),
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
            ]
        features = scaled(FEATURES, width)
        flat = widths[-1] * -(-height // 8) * -(-breadth // 8)  # each convolution halves, and rounds up
        layers += [nn.BatchNorm2d(widths[-1]), nn.ReLU(inplace=True), nn.Flatten()]
        body = nn.Sequential(
            *layers, nn.Linear(flat, features, bias=False), nn.BatchNorm1d(features), nn.ReLU()
        )
        return body, nn.Linear(features, classes), features
