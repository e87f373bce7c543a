"""The decoder G of Vicious Classifiers (Appendix E.2), WideResNet with transposed convolutions, and a small
one for CPUs: the counterparts of the classifiers in `leakrange.nets.architectures.vicious`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import scaled
from leakrange.nets.architectures.vicious import BLOCKS, WIDTHS
from leakrange.nets.reconstructors import ReconstructorArchitecture, reconstructors
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["StridedConvReconstructor", "WideResNetReconstructor"]

LAST = 16


@reconstructors.register("wide-resnet")
class WideResNetReconstructor(ReconstructorArchitecture):
    """A linear layer to an eighth of the side, three groups of four residual blocks, each of which doubles
    the side, and a transposed convolution. Width 1 is the paper's k = 5."""

    name = "wide-resnet"
    summary = "the transposed counterpart of WideResNet-28-5 at width 1; for a GPU"
    paper = "VICIOUS"
    table = "Appendix E.2"

    @classmethod
    def layers(cls, spec: SampleSpec, inputs: int, width: float) -> nn.Module:
        """See `ReconstructorArchitecture.layers`."""
        from torch import nn

        from leakrange.nets.residual import blocks

        height, breadth, channels = spec.shape
        widths = [scaled(full, width) for full in reversed(WIDTHS)]
        shape = (widths[0], height // 8, breadth // 8)
        layers: list[nn.Module] = [
            nn.Linear(inputs, shape[0] * shape[1] * shape[2]),
            nn.Unflatten(1, shape),
        ]
        for before, after in zip(widths, (*widths[1:], LAST), strict=True):
            layers += blocks(BLOCKS, before, after, 2, up=True)
        return nn.Sequential(*layers, nn.ConvTranspose2d(LAST, channels, 3, padding=1, bias=False))


HIDDEN = 256
MAPS = 32
TILE = 4


@reconstructors.register("strided-conv")
class StridedConvReconstructor(ReconstructorArchitecture):
    """Two linear layers to a quarter of the side, then two convolutions, the last of which gives tiles of 4×4
    pixels. On a CPU that takes half the time of transposed convolutions and gives equally good pictures."""

    name = "strided-conv"
    summary = "two linear layers and two convolutions, about 560 thousand parameters"
    paper = "VICIOUS"
    table = "in place of Appendix E.2's, which wants a GPU"

    @classmethod
    def layers(cls, spec: SampleSpec, inputs: int, width: float) -> nn.Module:
        """See `ReconstructorArchitecture.layers`."""
        from torch import nn

        height, breadth, channels = spec.shape
        hidden, maps = scaled(HIDDEN, width), scaled(MAPS, width)
        shape = (maps, height // TILE, breadth // TILE)
        return nn.Sequential(
            nn.Linear(inputs, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(inplace=True),
            nn.Linear(hidden, shape[0] * shape[1] * shape[2], bias=False),
            nn.Unflatten(1, shape),
            nn.BatchNorm2d(maps),
            nn.ReLU(inplace=True),
            nn.Conv2d(maps, 2 * maps, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * maps),
            nn.ReLU(inplace=True),
            nn.Conv2d(2 * maps, channels * TILE**2, 3, padding=1),
            nn.PixelShuffle(TILE),
        )
