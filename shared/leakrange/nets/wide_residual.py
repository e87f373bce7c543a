"""Pre-activation residual blocks of WideResNet, which narrow a map or widen it."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

__all__ = ["WideBlock", "blocks"]


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
