"""Variations of pictures, as other photographs of the same things could show them: mirrored, moved, brighter
or darker."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["varied"]

SHIFT = 8
"""Pictures move by up to one part in so many of their side, in either direction."""
BRIGHTNESS = 0.25
"""Pixels are multiplied by a number that differs from 1 by up to this."""


def varied(pictures: Tensor, generator: torch.Generator) -> Tensor:
    """Pictures (B, H, W, C) as they are stored, uint8, each changed as ``generator`` draws: every other one
    is mirrored, all are moved along both sides (with their border repeated in the gap) and made brighter or
    darker."""
    count, height, width, _ = pictures.shape
    device = pictures.device

    def draw() -> Tensor:
        """A number for each picture, evenly in [0, 1)."""
        return torch.rand(count, 1, generator=generator, device=generator.device).to(device)

    mirrored = draw() < 0.5
    rows, columns = (_moved(side, draw()) for side in (height, width))
    columns = torch.where(mirrored, width - 1 - columns, columns)
    picture = torch.arange(count, device=device)[:, None, None]
    moved = pictures[picture, rows[:, :, None], columns[:, None, :]]
    light = 1.0 + BRIGHTNESS * (2.0 * draw() - 1.0)
    lit = moved.to(torch.float32) * light[:, :, None, None]
    return lit.round_().clamp_(0.0, 255.0).to(pictures.dtype)


def _moved(side: int, drawn: Tensor) -> Tensor:
    """The line of a picture that each of its ``side`` lines shows, (B, side), by numbers (B, 1) in [0, 1)."""
    most = side // SHIFT
    shift = (drawn * (2 * most + 1)).long() - most
    return (torch.arange(side, device=drawn.device) + shift).clamp(0, side - 1)
