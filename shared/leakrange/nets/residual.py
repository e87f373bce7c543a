"""Residual blocks: one that halves the channels inside, and those of WideResNet, which narrow a map or widen
it."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

__all__ = ["ResidualBlock", "blocks"]


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


class WideBlock(nn.Module):
    """{batch norm, ReLU, convolution 3×3} twice, and a shortcut (Zagoruyko and Komodakis 2016).

    ``stride`` 2 halves the sides of the map or, ``up``, doubles them: transposed convolutions then replace
    all convolutions. Where size or channels change, the shortcut is a convolution of the activated input.
    """

    def __init__(self, before: int, after: int, stride: int = 1, *, up: bool = False) -> None:
        super().__init__()
        self.activate = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU(inplace=True))
        self.shortcut: nn.Module | None = None
        if up:
            # a kernel of 4 doubles the sides without leaving a pattern of single pixels
            size = 4 if stride == 2 else 3
            first: nn.Module = nn.ConvTranspose2d(before, after, size, stride=stride, padding=1, bias=False)
            second: nn.Module = nn.ConvTranspose2d(after, after, 3, padding=1, bias=False)
        else:
            first = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
            second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        if before != after or stride != 1:
            self.shortcut = (
                nn.ConvTranspose2d(before, after, stride, stride=stride, bias=False)
                if up
                else nn.Conv2d(before, after, 1, stride=stride, bias=False)
            )
        self.layers = nn.Sequential(first, nn.BatchNorm2d(after), nn.ReLU(inplace=True), second)

    def forward(self, x: Tensor) -> Tensor:
        """(B, before, H, W) to (B, after, H', W')."""
        if self.shortcut is None:
            return cast(Tensor, x + self.layers(self.activate(x)))
        active = self.activate(x)
        return cast(Tensor, self.shortcut(active) + self.layers(active))


def blocks(count: int, before: int, after: int, stride: int, *, up: bool = False) -> list[nn.Module]:
    """A group of ``count`` blocks, of which the first changes channels and size."""
    return [
        WideBlock(before, after, stride, up=up),
        *(WideBlock(after, after, up=up) for _ in range(count - 1)),
    ]
