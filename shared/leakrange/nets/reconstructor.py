"""The form of every reconstructor, the scale on which it and its losses see pictures, and one that draws only
the difference from the mean picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from leakrange.wire.samples import SampleSpec

__all__ = ["AboutMean", "Reconstructor", "from_pixels", "to_pixels", "unscaled"]

WHITE = 255.0


class Reconstructor(nn.Module):
    """Runs ``layers``, which map releases (B, inputs) to logits of the pixels; a sigmoid brings them into [0,
    1]."""

    def __init__(self, layers: nn.Module, *, spec: SampleSpec, inputs: int) -> None:
        super().__init__()
        self.layers = layers
        self.spec = spec
        self.inputs = inputs

    def forward(self, releases: Tensor) -> Tensor:
        """Pictures (B, C, H, W) in [0, 1]."""
        return cast(Tensor, self.layers(releases)).sigmoid()


def to_pixels(samples: Tensor) -> Tensor:
    """Stored pictures (B, H, W, C) of uint8 as (B, C, H, W) in [0, 1]."""
    return samples.to(torch.float32).div_(WHITE).permute(0, 3, 1, 2)


def unscaled(inputs: Tensor, spec: SampleSpec) -> Tensor:
    """Pictures (B, C, H, W) in [0, 1], from pictures as nets take them, see
    `leakrange.nets.classifier.to_input`."""
    scale, offset = (
        torch.tensor(each, device=inputs.device).view(-1, 1, 1) for each in (spec.scale, spec.offset)
    )
    return (inputs - offset) * (scale / WHITE)


def from_pixels(pixels: Tensor) -> Tensor:
    """Pictures (B, C, H, W) in [0, 1] as (B, H, W, C) from 0 to 255, not rounded."""
    return pixels.permute(0, 2, 3, 1) * WHITE


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
