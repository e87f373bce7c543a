"""A small decoder for CPUs, the counterpart of `leakrange.nets.architectures.strided_conv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import scaled
from leakrange.nets.reconstructors import ReconstructorArchitecture, reconstructors
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["StridedConvReconstructor"]

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
