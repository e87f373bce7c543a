"""TAPPFL's feature extractors, for pictures and for rows of tables, and a small one for federations on a CPU.
Each has a head for the task that is learned on it."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["TappflConv", "TappflMlp", "TappflSmall"]


class TappflNet(Architecture):
    """An extractor of features, and a head of two linear layers with ``head`` values between them. The paper
    does not print a head; its first layers are the extractor."""

    paper = "TAPPFL"
    head: ClassVar[int]

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.initial import he_normal

        body, features = cls.extractor(spec, width)
        middle = scaled(cls.head, width)
        head = nn.Sequential(nn.Linear(features, middle), nn.ReLU(inplace=True), nn.Linear(middle, classes))
        return he_normal(body), head, features

    @classmethod
    @abstractmethod
    def extractor(cls, spec: SampleSpec, width: float) -> tuple[nn.Module, int]:
        """The layers that give features, and how many features there are."""


@nets.register("tappfl-conv")
class TappflConv(TappflNet):
    """Two blocks {two convolutions 3×3 with ReLU, max pooling} of 64 and 128 channels, whose map is the
    feature vector (8,192 values of a picture of 32×32); then a head of 128 values."""

    name = "tappfl-conv"
    summary = "four convolutions as an extractor that devices learn together, for pictures"
    table = "Table 3, CIFAR10"
    encodings = ("picture",)
    samples_apart = True
    smallest = 4
    widths = (64, 128)
    head = 128

    @classmethod
    def extractor(cls, spec: SampleSpec, width: float) -> tuple[nn.Module, int]:
        """See `TappflNet.extractor`."""
        from torch import nn

        height, breadth, before = spec.shape
        layers: list[nn.Module] = []
        for full in cls.widths:
            after = scaled(full, width)
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(inplace=True)]
            layers += [nn.Conv2d(after, after, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            height, breadth, before = height // 2, breadth // 2, after
        return nn.Sequential(*layers, nn.Flatten()), before * height * breadth


@nets.register("tappfl-small")
class TappflSmall(TappflNet):
    """Three convolutions 3×3 of stride 2 with ReLU and a linear layer: 128 features; then a head of 64
    values. The net does a hundredth of the work of the paper's, and like that one has no batch norm."""

    name = "tappfl-small"
    summary = "three strided convolutions as an extractor that devices learn together, for pictures"
    table = "in place of Table 3's for CIFAR10"
    encodings = ("picture",)
    samples_apart = True
    smallest = 8
    widths = (16, 32, 32)
    features = 128
    head = 64

    @classmethod
    def extractor(cls, spec: SampleSpec, width: float) -> tuple[nn.Module, int]:
        """See `TappflNet.extractor`."""
        from torch import nn

        height, breadth, before = spec.shape
        layers: list[nn.Module] = []
        for full in cls.widths:
            after = scaled(full, width)
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU(inplace=True)]
            height, breadth, before = (height + 1) // 2, (breadth + 1) // 2, after
        features, flat = scaled(cls.features, width), before * height * breadth
        body = nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, features), nn.ReLU(inplace=True))
        return body, features


@nets.register("tappfl-mlp")
class TappflMlp(TappflNet):
    """Linear layers of 64 and 128 values, each with ReLU; on these 128 features a head of 64 values and one
    output for each class. The net has no batch norm, whose statistics devices could not average.

    A picture or a series is taken as one vector.
    """

    name = "tappfl-mlp"
    summary = "two linear layers as an extractor that devices learn together, for tables and vectors"
    table = "Table 3, Loans and Adult"
    encodings = None
    samples_apart = True
    widths = (64, 128)
    head = 64

    @classmethod
    def extractor(cls, spec: SampleSpec, width: float) -> tuple[nn.Module, int]:
        """See `TappflNet.extractor`."""
        from torch import nn

        first, features = (scaled(full, width) for full in cls.widths)
        body = nn.Sequential(
            nn.Flatten(),
            nn.Linear(math.prod(spec.shape), first),
            nn.ReLU(inplace=True),
            nn.Linear(first, features),
            nn.ReLU(inplace=True),
        )
        return body, features
