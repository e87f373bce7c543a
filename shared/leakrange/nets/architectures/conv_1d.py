"""A small convolutional net along time, for motion and other series of few channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Conv1d"]

WIDTHS = (32, 64, 128)
"""Channels of the first blocks; later ones have as many as the last of these."""
FEATURES = 64
KERNEL = 5
FEWEST = 8
"""The fewest steps that the blocks leave."""
DROPOUT = 0.2


@nets.register("conv-1d")
class Conv1d(Architecture):
    """Blocks {convolution of 5 steps and stride 2, batch norm, ReLU}, as many as leave 8 to 16 steps, then
    two linear layers."""

    name = "conv-1d"
    summary = "strided convolutions along time, for series of few channels"
    paper = "PASS"
    table = "in place of Table 6's for motion"
    encodings = ("series",)
    smallest = 2 * FEWEST

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.dropout import Dropout

        steps, before = spec.shape
        layers: list[nn.Module] = []
        for block in range((steps // FEWEST).bit_length() - 1):
            after = scaled(WIDTHS[min(block, len(WIDTHS) - 1)], width)
            layers += [
                nn.Conv1d(before, after, KERNEL, stride=2, padding=KERNEL // 2, bias=False),
                nn.BatchNorm1d(after),
                nn.ReLU(inplace=True),
            ]
            steps, before = (steps + 1) // 2, after
        features = scaled(FEATURES, width)
        body = nn.Sequential(
            *layers,
            nn.Flatten(),
            Dropout(DROPOUT),
            nn.Linear(before * steps, features),
            nn.ReLU(inplace=True),
        )
        return body, nn.Linear(features, classes), features
