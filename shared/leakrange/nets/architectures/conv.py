"""Small convolutional nets: along time for motion and other series of few channels, and over pictures and
series that can be seen as pictures, such as spectra of speech."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Conv1d", "Conv2d", "GroupedConv2d"]

DROPOUT = 0.2
GROUPS = 4


@nets.register("conv-1d")
class Conv1d(Architecture):
    """Blocks {convolution of 5 steps and stride 2, batch norm, ReLU}, as many as leave 8 to 16 steps, then
    two linear layers."""

    name = "conv-1d"
    summary = "strided convolutions along time, for series of few channels"
    paper = "PASS"
    table = "in place of Table 6's for motion"
    encodings = ("series",)
    widths = (32, 64, 128)
    """Channels of the first blocks; later ones have as many as the last of these."""
    features = 64
    kernel = 5
    fewest = 8
    """The fewest steps that the blocks leave."""
    smallest = 2 * fewest

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.dropout import Dropout

        steps, before = spec.shape
        layers: list[nn.Module] = []
        for block in range((steps // cls.fewest).bit_length() - 1):
            after = scaled(cls.widths[min(block, len(cls.widths) - 1)], width)
            layers += [
                nn.Conv1d(before, after, cls.kernel, stride=2, padding=cls.kernel // 2, bias=False),
                nn.BatchNorm1d(after),
                nn.ReLU(inplace=True),
            ]
            steps, before = (steps + 1) // 2, after
        features = scaled(cls.features, width)
        body = nn.Sequential(
            *layers,
            nn.Flatten(),
            Dropout(DROPOUT),
            nn.Linear(before * steps, features),
            nn.ReLU(inplace=True),
        )
        return body, nn.Linear(features, classes), features


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
    widths = (16, 32, 64)
    """Channels of the first blocks; later ones have as many as the last of these."""
    features = 64
    fewest = 4
    """The fewest rows and columns that the blocks leave."""
    smallest = 2 * fewest

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
        for block in range((min(height, breadth) // cls.fewest).bit_length() - 1):
            after = scaled(cls.widths[min(block, len(cls.widths) - 1)], width)
            layers += [
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
                nn.GroupNorm(math.gcd(GROUPS, after), after) if cls.samples_apart else nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
            ]
            height, breadth, before = (height + 1) // 2, (breadth + 1) // 2, after
        features = scaled(cls.features, width)
        flat = before * height * breadth
        last = [Dropout(DROPOUT), nn.Linear(flat, features), nn.ReLU(inplace=True)]
        body = nn.Sequential(*layers, nn.Flatten(), *last)
        return body, nn.Linear(features, classes), features


@nets.register("conv-2d-groups")
class GroupedConv2d(Conv2d):
    """`Conv2d` with group norm, in up to four groups of channels, in place of batch norm: for trainings that
    need each sample's own gradient."""

    name = "conv-2d-groups"
    summary = "conv-2d with group norm, which DP-SGD can train"
    samples_apart = True
