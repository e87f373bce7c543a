"""TAPPFL's feature extractor for pictures, with a head for the task that is learned on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["TappflConv"]

WIDTHS = (64, 128)
HEAD = 128


@nets.register("tappfl-conv")
class TappflConv(Architecture):
    """Two blocks {two convolutions 3×3 with ReLU, max pooling} of 64 and 128 channels, whose map is the
    feature vector (8,192 values of a picture of 32×32); then a head of 128 values.

    The paper does not print a head; its first layers are the extractor.
    """

    name = "tappfl-conv"
    summary = "four convolutions as an extractor that devices learn together, for pictures"
    paper = "TAPPFL"
    table = "Table 3, CIFAR10"
    encodings = ("picture",)
    smallest = 4

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.initial import he_normal

        height, breadth, before = spec.shape
        layers: list[nn.Module] = []
        for full in WIDTHS:
            after = scaled(full, width)
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(inplace=True)]
            layers += [nn.Conv2d(after, after, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            height, breadth, before = height // 2, breadth // 2, after
        features, middle = before * height * breadth, scaled(HEAD, width)
        head = nn.Sequential(nn.Linear(features, middle), nn.ReLU(inplace=True), nn.Linear(middle, classes))
        return he_normal(nn.Sequential(*layers, nn.Flatten())), head, features
