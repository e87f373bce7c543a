"""The classifier F of Vicious Classifiers (Appendix E.2), WideResNet-28-k, and a small one without dropout
for CPUs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["BLOCKS", "WIDTHS", "StridedConv", "WideResNet"]

STEM = 16
WIDTHS = (80, 160, 320)
"""16k, 32k and 64k channels for the paper's k = 5."""
BLOCKS = 4
"""Blocks in each of three groups: 28 layers in all."""


@nets.register("wide-resnet")
class WideResNet(Architecture):
    """A convolution, three groups of four residual blocks, and the mean over the map.

    Width 1 is k = 5, as in the paper: 9.1 million parameters for 32×32×3 and ten classes. Any k is a width of
    k/5.
    """

    name = "wide-resnet"
    summary = "WideResNet-28-5 at width 1, about 9 million parameters; for a GPU"
    paper = "VICIOUS"
    table = "Appendix E.2"
    encodings = ("picture",)
    smallest = 16

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.residual import blocks

        layers: list[nn.Module] = [nn.Conv2d(spec.shape[2], STEM, 3, padding=1, bias=False)]
        before = STEM
        for place, full in enumerate(WIDTHS):
            after = scaled(full, width)
            layers += blocks(BLOCKS, before, after, 1 if place == 0 else 2)
            before = after
        layers += [nn.BatchNorm2d(before), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(*layers), nn.Linear(before, classes), before


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
    widths = (16, 32, 64)
    features = 128

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        height, breadth, channels = spec.shape
        widths = [scaled(full, width) for full in cls.widths]
        layers: list[nn.Module] = [nn.Conv2d(channels, widths[0], 3, stride=2, padding=1, bias=False)]
        for before, after in pairwise(widths):
            layers += [
                nn.BatchNorm2d(before),
                nn.ReLU(inplace=True),
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
            ]
        features = scaled(cls.features, width)
        flat = widths[-1] * -(-height // 8) * -(-breadth // 8)  # each convolution halves, and rounds up
        layers += [nn.BatchNorm2d(widths[-1]), nn.ReLU(inplace=True), nn.Flatten()]
        body = nn.Sequential(
            *layers, nn.Linear(flat, features, bias=False), nn.BatchNorm1d(features), nn.ReLU()
        )
        return body, nn.Linear(features, classes), features
