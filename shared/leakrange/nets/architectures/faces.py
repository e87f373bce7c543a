"""Nets for faces, whose features are an embedding of the person in the picture: the teacher of FACELEAKS,
Inception-ResNet-v1, and a small residual net for faces of 64 pixels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["InceptionResNetV1", "Residual"]


@nets.register("inception-resnet-v1")
class InceptionResNetV1(Architecture):
    """The net for faces of 160×160; 23.5 million parameters before the head. Training it takes a GPU.

    `leakrange.providers.published.load_published` reads its published weights.
    """

    name = "inception-resnet-v1"
    summary = "the paper's face recogniser, 160×160 pixels, an embedding of 512 values"
    paper = "FACELEAKS"
    table = "Section 3.2"
    encodings = ("picture",)
    smallest = 80
    features = 512

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """See `Architecture.misfit`; the reason also names the size of the paper's faces."""
        reason = super().misfit(spec)
        return reason and f"{reason} (the paper's faces have 160)"

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.inception import InceptionResNetBody

        features = scaled(cls.features, width)
        body = InceptionResNetBody(spec.shape[2], features, lambda full: scaled(full, width))
        return body, nn.Linear(features, classes), features


DROPOUT = 0.3


@nets.register("residual")
class Residual(Architecture):
    """A strided convolution, three strided stages with a residual block each, and a linear embedding.

    The map shrinks to a sixteenth of the side, so images have a multiple of 16 pixels, 32 or more. The
    features are batch-normalised and not passed through a nonlinearity, like those of the paper's teacher:
    the head is one linear layer on them. A net of width .5 can be trained on a CPU.
    """

    name = "residual"
    summary = "a small residual net for faces, with an embedding of 256 values at width 1"
    paper = "FACELEAKS"
    table = "in place of Section 3.2's, which wants a GPU"
    encodings = ("picture",)
    smallest = 32
    widths = (64, 128, 256, 512)
    features = 256

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """See `Architecture.misfit`; the sides must also be multiples of 16."""
        if (reason := super().misfit(spec)) or not any(side % 16 for side in spec.shape[:2]):
            return reason
        return f"net {cls.name!r} takes sides of 32, 48, 64, ... pixels, not {spec.shape[0]}×{spec.shape[1]}"

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.dropout import Dropout
        from leakrange.nets.residual import ResidualBlock

        height, breadth, channels = spec.shape
        widths = [scaled(full, width) for full in cls.widths]
        layers: list[nn.Module] = [
            nn.Conv2d(channels, widths[0], 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(widths[0]),
            nn.ReLU(inplace=True),
        ]
        for before, after in pairwise(widths):
            layers += [
                nn.Conv2d(before, after, 2, stride=2, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
                ResidualBlock(after),
            ]
        features = scaled(cls.features, width)
        flat = widths[-1] * (height // 16) * (breadth // 16)
        embedding = [Dropout(DROPOUT), nn.Linear(flat, features, bias=False), nn.BatchNorm1d(features)]
        body = nn.Sequential(*layers, nn.Flatten(), *embedding)
        return body, nn.Linear(features, classes), features
