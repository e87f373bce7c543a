"""A small convolutional net for pictures, and for series that can be seen as pictures: spectra of speech."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Conv2d"]

WIDTHS = (16, 32, 64)
"""Channels of the first blocks; later ones have as many as the last of these."""
FEATURES = 64
FEWEST = 4
"""The fewest rows and columns that the blocks leave."""
DROPOUT = 0.2


@nets.register("conv-2d")
class Conv2d(Architecture):
    """Blocks {convolution 3×3 and stride 2, batch norm, ReLU}, as many as leave a map of 4 to 8 at its
    smaller side, then two linear layers.

    A series counts as a picture of one channel, whose rows are the series' channels. So it needs at least 8
    of them, in an order that means something, like the bands of a spectrum.
    """

    name = "conv-2d"
    summary = "small strided convolutions, for pictures and spectra of speech"
    paper = "none"
    table = "none"
    encodings = ("picture", "series")
    smallest = 2 * FEWEST

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """As of any net; a series needs channels enough as well."""
        reason = super().misfit(spec)
        if reason is None and len(spec.sides) == 1 and spec.shape[1] < cls.smallest:
            return f"net {cls.name!r} takes series of {cls.smallest} channels or more, not {spec.shape[1]}"
        return reason

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.dropout import Dropout

        layers: list[nn.Module] = []
        if len(spec.sides) == 1:
            (breadth, height), before = spec.shape, 1
            layers.append(nn.Unflatten(1, (1, height)))
        else:
            height, breadth, before = spec.shape
        for block in range((min(height, breadth) // FEWEST).bit_length() - 1):
            after = scaled(WIDTHS[min(block, len(WIDTHS) - 1)], width)
            layers += [
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
            ]
            height, breadth, before = (height + 1) // 2, (breadth + 1) // 2, after
        features = scaled(FEATURES, width)
        flat = before * height * breadth
        last = [Dropout(DROPOUT), nn.Linear(flat, features), nn.ReLU(inplace=True)]
        body = nn.Sequential(*layers, nn.Flatten(), *last)
        return body, nn.Linear(features, classes), features
