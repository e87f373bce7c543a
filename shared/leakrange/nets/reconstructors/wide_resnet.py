"""The decoder G of Vicious Classifiers (Appendix E.2): WideResNet with transposed convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import scaled
from leakrange.nets.architectures.wide_resnet import BLOCKS, WIDTHS
from leakrange.nets.reconstructors import ReconstructorArchitecture, reconstructors
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["WideResNetReconstructor"]

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

        from leakrange.nets.wide_residual import blocks

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
