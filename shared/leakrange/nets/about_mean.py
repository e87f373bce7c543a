"""A reconstructor that draws only the difference from the mean picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from leakrange.nets.reconstructor import Reconstructor

__all__ = ["AboutMean"]

DARKEST = 1e-3
"""The least distance of a mean pixel from 0 and from 1, so that its logit is finite and can still be
moved."""


class AboutMean(nn.Module):
    """``drawing`` adds its logits to those of the ``mean`` picture (C, H, W) in [0, 1]."""

    mean: Tensor
    share: Tensor

    def __init__(self, drawing: Reconstructor, mean: Tensor) -> None:
        super().__init__()
        self.drawing = drawing
        self.register_buffer("mean", torch.logit(mean, eps=DARKEST))
        self.register_buffer("share", torch.ones(()))

    def forward(self, releases: Tensor) -> Tensor:
        """Pictures (B, C, H, W) in [0, 1] of releases (B, inputs)."""
        return cast(Tensor, (self.share * self.drawing.layers(releases) + self.mean).sigmoid())

    @contextmanager
    def blank(self) -> Iterator[None]:
        """Inside the ``with`` block the net draws nothing but the mean picture."""
        self.share.zero_()
        try:
            yield
        finally:
            self.share.fill_(1.0)
