"""The classifier F of Honest-but-Curious Nets, Table 12."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["HbcClassifier", "HbcStudent"]

BLOCKS = 4


@nets.register("hbc")
class HbcClassifier(Architecture):
    """Up to four blocks {convolution 2×2 stride 2, batch norm, LeakyReLU .01, dropout .2}, then two linear
    layers.

    The paper's four blocks take 64×64 to 4×4. Smaller images get as many blocks as leave 4×4 or more, so
    that the map which the linear layer sees keeps the paper's size: four from 64 pixels, three from 32, two
    from 16.
    """

    name = "hbc"
    summary = "four strided convolutions and two linear layers, about 250 thousand parameters"
    paper = "HBC"
    table = "Table 12"
    encodings = ("picture",)
    smallest = 16
    widths: ClassVar[tuple[int, ...]] = (128, 128, 64, 64)
    """The channels of the four blocks. A net with fewer blocks keeps the last block's."""
    features: ClassVar[int] = 128

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`; 248,834 parameters for (64, 64, 3), two classes, width 1."""
        from torch import nn

        from leakrange.nets.dropout import Dropout

        height, breadth, channels = spec.shape
        blocks = min(BLOCKS, min(height, breadth).bit_length() - 3)
        layers: list[nn.Module] = []
        before = channels
        for full in (*cls.widths[: blocks - 1], cls.widths[-1]):
            after = scaled(full, width)
            layers += [
                nn.Conv2d(before, after, kernel_size=2, stride=2),
                nn.BatchNorm2d(after),
                nn.LeakyReLU(0.01),
                Dropout(0.2),
            ]
            before = after
        features = scaled(cls.features, width)
        flat = before * (height >> blocks) * (breadth >> blocks)
        body = nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, features), nn.LeakyReLU(0.01))
        head = nn.Sequential(Dropout(0.5), nn.Linear(features, classes))
        return body, head, features


@nets.register("hbc-student")
class HbcStudent(HbcClassifier):
    """The net `HbcClassifier` with layers of one width, as the paper's students have: 64-64-64-64-64 (Section
    5.8)."""

    name = "hbc-student"
    summary = "the net hbc with all layers of one width, about 116 thousand parameters"
    table = "Table 6"
    widths = (64, 64, 64, 64)
    features = 64
