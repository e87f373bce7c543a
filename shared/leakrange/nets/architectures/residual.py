"""A small residual net for faces of 64 pixels, whose features are an embedding of who is shown."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets
from leakrange.wire.samples import Encoding, SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["Residual"]

WIDTHS = (64, 128, 256, 512)
FEATURES = 256
DROPOUT = 0.3


@nets.register("residual")
class Residual(Architecture):
    """A strided convolution, three strided stages with a residual block each, and a linear embedding.

    The map shrinks to a sixteenth of the side, so images have a multiple of 16 pixels, 32 or more. The
    features are batch-normalised and not passed through a nonlinearity, as those of the paper's teacher are:
    the head is one linear layer on them. Width .5 trains on a CPU.
    """

    name: ClassVar[str] = "residual"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "a small residual net for faces, with an embedding of 256 values at width 1"
    paper: ClassVar[str] = "FACELEAKS"
    table: ClassVar[str] = "in place of Section 3.2's, which wants a GPU"
    encodings: ClassVar[tuple[Encoding, ...]] = ("picture",)
    smallest: ClassVar[int] = 32

    @staticmethod
    def build(spec: SampleSpec, classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net. Raises `ValueError` for a side that 16 does not divide, or under 32."""
        from torch import nn

        from leakrange.nets.classifier import Classifier
        from leakrange.nets.dropout import Dropout
        from leakrange.nets.residual import ResidualBlock

        if reason := Residual.misfit(spec):
            raise ValueError(reason)
        height, breadth, channels = spec.shape
        if height % 16 or breadth % 16:
            raise ValueError(f"net 'residual' takes sides of 32, 48, 64, ... pixels, not {height}×{breadth}")
        widths = [max(1, round(full * width)) for full in WIDTHS]
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
        features = max(1, round(FEATURES * width))
        flat = widths[-1] * (height // 16) * (breadth // 16)
        embedding = [Dropout(DROPOUT), nn.Linear(flat, features, bias=False), nn.BatchNorm1d(features)]
        body = nn.Sequential(*layers, nn.Flatten(), *embedding)
        return Classifier(body, nn.Linear(features, classes), spec=spec, features=features, classes=classes)
