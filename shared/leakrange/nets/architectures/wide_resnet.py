"""WideResNet-28-k, the classifier F of Vicious Classifiers (Appendix E.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["BLOCKS", "WIDTHS", "WideResNet"]

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

        from leakrange.nets.wide_residual import blocks

        layers: list[nn.Module] = [nn.Conv2d(spec.shape[2], STEM, 3, padding=1, bias=False)]
        before = STEM
        for place, full in enumerate(WIDTHS):
            after = scaled(full, width)
            layers += blocks(BLOCKS, before, after, 1 if place == 0 else 2)
            before = after
        layers += [nn.BatchNorm2d(before), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(*layers), nn.Linear(before, classes), before
