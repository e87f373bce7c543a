"""A residual block that halves the channels inside."""

from __future__ import annotations

from torch import Tensor, nn

__all__ = ["ResidualBlock"]


class ResidualBlock(nn.Module):
    """Adds to x (B, C, H, W) a bottleneck of 1×1, 3×3 and 1×1 convolutions with C/2 channels inside.

    The last batch norm begins at zero, so that the block begins as the identity.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = max(1, channels // 2)
        last = nn.BatchNorm2d(channels)
        nn.init.zeros_(last.weight)
        self.path = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, channels, 1, bias=False),
            last,
        )
        self.out = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        out: Tensor = self.out(x + self.path(x))
        return out
