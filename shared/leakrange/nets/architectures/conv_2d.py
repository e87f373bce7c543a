"""A small convolutional net for pictures, and for series that are looked at as one: spectra of speech."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets
from leakrange.wire.samples import Encoding, SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["Conv2d"]

WIDTHS = (16, 32, 64)
"""Channels of the first blocks; later ones have as many as the last of these."""
FEATURES = 64
FEWEST = 4
"""Rows and columns that the blocks leave, at least."""
DROPOUT = 0.2


@nets.register("conv-2d")
class Conv2d(Architecture):
    """Blocks {convolution 3×3 and stride 2, batch norm, ReLU}, as many as leave a map of 4 to 8 at its
    smaller side, then two linear layers.

    A series is a picture of one channel, its channels being rows: so it takes at least 8 of them, and they
    have an order, as the bands of a spectrum have.
    """

    name: ClassVar[str] = "conv-2d"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "small strided convolutions, for pictures and spectra of speech"
    paper: ClassVar[str] = "none"
    table: ClassVar[str] = "none"
    encodings: ClassVar[tuple[Encoding, ...]] = ("picture", "series")
    smallest: ClassVar[int] = 2 * FEWEST

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """As of any net; a series needs channels enough as well."""
        if spec.encoding == "series" and spec.shape[1] < cls.smallest:
            return f"net {cls.name!r} takes series of {cls.smallest} channels or more, not {spec.shape[1]}"
        return super().misfit(spec)

    @staticmethod
    def build(spec: SampleSpec, classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net. Raises `ValueError` for what `misfit` names."""
        from torch import nn

        from leakrange.nets.classifier import Classifier
        from leakrange.nets.dropout import Dropout

        if reason := Conv2d.misfit(spec):
            raise ValueError(reason)
        layers: list[nn.Module] = []
        if spec.encoding == "series":
            (breadth, height), before = spec.shape, 1
            layers.append(nn.Unflatten(1, (1, height)))
        else:
            height, breadth, before = spec.shape
        for block in range((min(height, breadth) // FEWEST).bit_length() - 1):
            after = max(1, round(WIDTHS[min(block, len(WIDTHS) - 1)] * width))
            layers += [
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
            ]
            height, breadth, before = (height + 1) // 2, (breadth + 1) // 2, after
        features = max(1, round(FEATURES * width))
        flat = before * height * breadth
        last = [Dropout(DROPOUT), nn.Linear(flat, features), nn.ReLU(inplace=True)]
        body = nn.Sequential(*layers, nn.Flatten(), *last)
        return Classifier(body, nn.Linear(features, classes), spec=spec, features=features, classes=classes)
