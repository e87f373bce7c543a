"""Augmented copies of pictures: each is changed in one of seven ways (those of the runs of VICIOUS)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as f

__all__ = ["augmented"]


def augmented(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """A copy of pictures (B, C, H, W) in [0, 1], each changed in one way that ``generator`` draws: mirrored,
    part of it erased, seen in perspective, sharpened, its contrast stretched, its middle enlarged, or
    blurred."""
    changed = pixels.clone()
    draws = torch.randint(len(_WAYS), (len(pixels),), generator=generator, device=generator.device)
    for place, way in enumerate(_WAYS):
        chosen = torch.nonzero(draws == place).flatten().to(pixels.device)
        if len(chosen):
            changed[chosen] = way(pixels[chosen], generator).clamp(0.0, 1.0)
    return changed


def _uniform(count: int, low: float, high: float, generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(count, generator=generator, device=generator.device)


def _mirrored(pixels: Tensor, _: torch.Generator) -> Tensor:
    return pixels.flip(3)


def _erased(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """A rectangle of 2 to 20 % of the picture, with sides at a ratio from .2 to 2.2, turns black."""
    count, _, height, width = pixels.shape
    area = _uniform(count, 0.02, 0.2, generator)
    ratio = torch.exp(_uniform(count, -1.609, 0.788, generator))  # ln .2 to ln 2.2
    stripes = []
    for side, size in ((height, (area * ratio).sqrt()), (width, (area / ratio).sqrt())):
        extent = (size * side).round().clamp(1, side - 1)
        start = (_uniform(count, 0.0, 1.0, generator) * (side - extent)).floor()
        line = torch.arange(side, device=generator.device)
        stripes.append((line >= start[:, None]) & (line < (start + extent)[:, None]))
    erased = (stripes[0][:, None, :, None] & stripes[1][:, None, None, :]).to(pixels.device)
    return pixels.masked_fill(erased, 0.0)


def _perspective(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Each corner moves inwards by up to a quarter of the side; pixels from outside the picture are black."""
    count, _, height, width = pixels.shape
    corners = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    inwards = _uniform(count * 8, 0.0, 0.5, generator).view(count, 4, 2).cpu()
    mapped = _homographies(corners * (1.0 - inwards), corners).to(pixels.device)
    y, x = torch.meshgrid(
        torch.linspace(-1, 1, height, device=pixels.device),
        torch.linspace(-1, 1, width, device=pixels.device),
        indexing="ij",
    )
    points = torch.stack([x, y, torch.ones_like(x)], dim=-1).view(1, -1, 3) @ mapped.transpose(1, 2)
    grid = (points[..., :2] / points[..., 2:]).view(count, height, width, 2)
    return f.grid_sample(pixels, grid, align_corners=True)


def _homographies(source: Tensor, target: Tensor) -> Tensor:
    """The maps (B, 3, 3) from four points each, (B, 4, 2), to ``target`` (4, 2)."""
    x, y = source.unbind(dim=2)
    u, v = target.expand_as(source).unbind(dim=2)
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    rows = torch.cat(
        [
            torch.stack([x, y, one, zero, zero, zero, -u * x, -u * y], dim=2),
            torch.stack([zero, zero, zero, x, y, one, -v * x, -v * y], dim=2),
        ],
        dim=1,
    )
    solved = torch.linalg.solve(rows.double(), torch.cat([u, v], dim=1).double())
    return torch.cat([solved, torch.ones(len(source), 1, dtype=torch.float64)], dim=1).view(-1, 3, 3).float()


def _sharpened(pixels: Tensor, _: torch.Generator) -> Tensor:
    """Five times the difference to a smoothed copy; the border stays."""
    kernel = torch.ones(3, 3, device=pixels.device)
    kernel[1, 1] = 5.0
    smooth = pixels.clone()
    smooth[:, :, 1:-1, 1:-1] = _filtered(pixels, kernel / kernel.sum())
    return smooth + 5.0 * (pixels - smooth)


def _filtered(pixels: Tensor, kernel: Tensor) -> Tensor:
    channels = pixels.shape[1]
    return f.conv2d(pixels, kernel.expand(channels, 1, *kernel.shape), groups=channels)


def _stretched(pixels: Tensor, _: torch.Generator) -> Tensor:
    """Each channel fills the range from 0 to 1; a flat one stays."""
    low, high = pixels.amin(dim=(2, 3), keepdim=True), pixels.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (pixels - low) / (high - low).clamp_min(1e-6), pixels)


def _enlarged(pixels: Tensor, _: torch.Generator) -> Tensor:
    """The middle two thirds at full size."""
    height, width = pixels.shape[2:]
    rows, columns = height * 2 // 3, width * 2 // 3
    top, left = (height - rows) // 2, (width - columns) // 2
    part = pixels[:, :, top : top + rows, left : left + columns]
    return f.interpolate(part, (height, width), mode="bilinear", align_corners=False, antialias=True)


def _blurred(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """A Gaussian 5 pixels high and 9 wide, of one deviation between .1 and 2 for the whole batch."""
    deviation = float(_uniform(1, 0.1, 2.0, generator))
    lines = [
        torch.exp(-(torch.arange(-half, half + 1, device=pixels.device) ** 2) / (2 * deviation**2))
        for half in (2, 4)
    ]
    kernel = torch.outer(lines[0] / lines[0].sum(), lines[1] / lines[1].sum())
    return _filtered(f.pad(pixels, (4, 4, 2, 2), mode="reflect"), kernel)


_WAYS = (_mirrored, _erased, _perspective, _sharpened, _stretched, _enlarged, _blurred)
