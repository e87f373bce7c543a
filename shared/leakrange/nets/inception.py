"""The parts of Inception-ResNet-v1 (Szegedy et al. 2016, Figures 9 to 14) as face recognition uses it.

Modules are named as in the weights that are published for it (trained on VGGFace2 or CASIA-WebFace), so that
a state dict of those fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

__all__ = ["InceptionResNetBody"]

Pair = int | tuple[int, int]
Steps = Sequence[tuple[int, Pair, int]]
"""Channels, kernel and stride of one convolution after the other."""
Scale = Callable[[int], int]
EPSILON = 1e-3
"""The ``eps`` of every batch norm."""
BLOCKS = (5, 10, 5)
SCALES = (0.17, 0.10, 0.20)
"""The factors of the residuals, before they are added, in the 35, 17 and 8 pixel blocks."""
DROPOUT = 0.6


class _Convolution(nn.Module):
    """Convolution without bias, batch norm, ReLU. Odd kernels of stride 1 keep the size if ``same``."""

    def __init__(self, before: int, after: int, kernel: Pair, *, stride: int = 1, same: bool = False) -> None:
        super().__init__()
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (sides[0] // 2, sides[1] // 2) if same else 0
        self.conv = nn.Conv2d(before, after, sides, stride=stride, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(after, eps=EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.bn(self.conv(x)))


def _path(before: int, steps: Steps) -> nn.Module:
    """Convolutions one after the other; those of stride 1 keep the size."""
    convolutions = []
    for after, kernel, stride in steps:
        convolutions.append(_Convolution(before, after, kernel, stride=stride, same=stride == 1))
        before = after
    return convolutions[0] if len(convolutions) == 1 else nn.Sequential(*convolutions)


class _Branches(nn.Module):
    """Paths side by side, joined by channel; with ``pools`` there is a last one that only pools."""

    def __init__(self, before: int, paths: Sequence[Steps], *, pools: bool = False) -> None:
        super().__init__()
        branches = [_path(before, steps) for steps in paths]
        branches += [nn.MaxPool2d(3, stride=2)] if pools else []
        self.names = [f"branch{i}" for i in range(len(branches))]
        for name, module in zip(self.names, branches, strict=True):
            self.add_module(name, module)
        self.channels = sum(steps[-1][0] for steps in paths) + (before if pools else 0)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([getattr(self, name)(x) for name in self.names], dim=1)


class _Residual(_Branches):
    """x + scale · (branches, mixed by a 1×1 convolution)."""

    def __init__(
        self,
        channels: int,
        paths: Sequence[Steps],
        scale: float,
        *,
        last: bool = False,
    ) -> None:
        super().__init__(channels, paths)
        self.conv2d = nn.Conv2d(self.channels, channels, 1)
        self.scale, self.last = scale, last

    def forward(self, x: Tensor) -> Tensor:
        out = x + self.scale * self.conv2d(super().forward(x))
        return out if self.last else torch.relu(out)


class InceptionResNetBody(nn.Module):
    """Maps pictures (B, C, H, W), 75 pixels a side or more, to (B, features). ``scale`` gives a layer's
    channels."""

    def __init__(self, channels: int, features: int, scale: Scale) -> None:
        super().__init__()
        n = scale
        self.conv2d_1a = _Convolution(channels, n(32), 3, stride=2)
        self.conv2d_2a = _Convolution(n(32), n(32), 3)
        self.conv2d_2b = _Convolution(n(32), n(64), 3, same=True)
        self.maxpool_3a = nn.MaxPool2d(3, stride=2)
        self.conv2d_3b = _Convolution(n(64), n(80), 1)
        self.conv2d_4a = _Convolution(n(80), n(192), 3)
        self.conv2d_4b = _Convolution(n(192), n(256), 3, stride=2)
        small, middle, late = n(32), n(128), n(192)
        block35: list[Steps] = [
            [(small, 1, 1)],
            [(small, 1, 1), (small, 3, 1)],
            [(small, 1, 1), (small, 3, 1), (small, 3, 1)],
        ]
        self.repeat_1 = nn.Sequential(*(_Residual(n(256), block35, SCALES[0]) for _ in range(BLOCKS[0])))
        self.mixed_6a = _Branches(
            n(256), [[(n(384), 3, 2)], [(n(192), 1, 1), (n(192), 3, 1), (n(256), 3, 2)]], pools=True
        )
        wide = self.mixed_6a.channels
        block17: list[Steps] = [[(middle, 1, 1)], [(middle, 1, 1), (middle, (1, 7), 1), (middle, (7, 1), 1)]]
        self.repeat_2 = nn.Sequential(*(_Residual(wide, block17, SCALES[1]) for _ in range(BLOCKS[1])))
        self.mixed_7a = _Branches(
            wide,
            [
                [(n(256), 1, 1), (n(384), 3, 2)],
                [(n(256), 1, 1), (n(256), 3, 2)],
                [(n(256), 1, 1), (n(256), 3, 1), (n(256), 3, 2)],
            ],
            pools=True,
        )
        wide = self.mixed_7a.channels
        block8: list[Steps] = [[(late, 1, 1)], [(late, 1, 1), (late, (1, 3), 1), (late, (3, 1), 1)]]
        self.repeat_3 = nn.Sequential(*(_Residual(wide, block8, SCALES[2]) for _ in range(BLOCKS[2])))
        self.block8 = _Residual(wide, block8, 1.0, last=True)
        self.avgpool_1a = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(DROPOUT)
        self.last_linear = nn.Linear(wide, features, bias=False)
        self.last_bn = nn.BatchNorm1d(features, eps=EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        """The embedding, not normalised."""
        x = self.maxpool_3a(self.conv2d_2b(self.conv2d_2a(self.conv2d_1a(x))))
        x = self.repeat_1(self.conv2d_4b(self.conv2d_4a(self.conv2d_3b(x))))
        x = self.repeat_3(self.mixed_7a(self.repeat_2(self.mixed_6a(x))))
        x = self.dropout(self.avgpool_1a(self.block8(x))).flatten(1)
        embedding: Tensor = self.last_bn(self.last_linear(x))
        return embedding
