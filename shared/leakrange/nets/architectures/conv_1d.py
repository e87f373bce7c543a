"""A small convolutional net along time, for motion and other series of few channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets
from leakrange.wire.samples import Encoding, SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["Conv1d"]

WIDTHS = (32, 64, 128)
"""Channels of the first blocks; later ones have as many as the last of these."""
FEATURES = 64
KERNEL = 5
FEWEST = 8
"""Steps that the blocks leave, at least."""
DROPOUT = 0.2


@nets.register("conv-1d")
class Conv1d(Architecture):
    """Blocks {convolution of 5 steps and stride 2, batch norm, ReLU}, as many as leave 8 to 16 steps, then
    two linear layers."""

    name: ClassVar[str] = "conv-1d"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "strided convolutions along time, for series of few channels"
    paper: ClassVar[str] = "PASS"
    table: ClassVar[str] = "in place of Table 6's for motion"
    encodings: ClassVar[tuple[Encoding, ...]] = ("series",)
    smallest: ClassVar[int] = 2 * FEWEST

    @staticmethod
    def build(spec: SampleSpec, classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net. Raises `ValueError` for anything but series of 16 steps or more."""
        from torch import nn

        from leakrange.nets.classifier import Classifier
        from leakrange.nets.dropout import Dropout

        if reason := Conv1d.misfit(spec):
            raise ValueError(reason)
        steps, before = spec.shape
        layers: list[nn.Module] = []
        for block in range((steps // FEWEST).bit_length() - 1):
            after = max(1, round(WIDTHS[min(block, len(WIDTHS) - 1)] * width))
            layers += [
                nn.Conv1d(before, after, KERNEL, stride=2, padding=KERNEL // 2, bias=False),
                nn.BatchNorm1d(after),
                nn.ReLU(inplace=True),
            ]
            steps, before = (steps + 1) // 2, after
        features = max(1, round(FEATURES * width))
        body = nn.Sequential(
            *layers,
            nn.Flatten(),
            Dropout(DROPOUT),
            nn.Linear(before * steps, features),
            nn.ReLU(inplace=True),
        )
        return Classifier(body, nn.Linear(features, classes), spec=spec, features=features, classes=classes)
