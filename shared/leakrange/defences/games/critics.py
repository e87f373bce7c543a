"""Nets of TAPPFL's Table 3 that devices keep to themselves, and small ones in their place."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from leakrange.defences.games import CriticSize
from leakrange.defences.games.game import Sizes

__all__ = ["Critic", "adversary", "mutual_information"]

HIDDEN, SIDE = 128, 8
"""The small critic's number of values between its layers, and the side of the pictures that it sees."""
TABLE = (16, 32, 128, 128, *(256,) * 3, *(512,) * 6, 4096, 512)
"""Of the paper's critic for tables: its linear layers before the last."""
MAPS = ((16,), (32,), (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3)
"""Convolutions between the poolings of the paper's critic for pictures."""
BLOCKS = ((256,) * 3, (512,) * 3, (512,) * 3)
"""Convolutions between the poolings of the paper's adversary for pictures."""


def adversary(sizes: Sizes, size: CriticSize) -> nn.Module:
    """The privacy protection network g: features (B, N) to logits of the private attribute.

    "paper": Table 3, which for pictures needs the features of `leakrange.nets.architectures.tappfl_conv`.
    "small": the same for tables; for pictures it is the paper's net for tables. Raises `ValueError` for
    features that are no square maps.
    """
    if size == "small" or len(sizes.spec.sides) < 2:
        return _linear([sizes.features, 64, 128, 128, sizes.private])
    channels, side = _maps(sizes)
    layers: list[nn.Module] = [nn.Unflatten(1, (channels, side, side))]
    layers += _convolutions(channels, BLOCKS)
    flat = BLOCKS[-1][-1] * max(1, side // 2 ** len(BLOCKS)) ** 2
    return nn.Sequential(*layers, nn.Flatten(), _linear([flat, 4096, 4096, sizes.private]))


class Critic(nn.Module):
    """The utility preservation network h: one number for each pair of a sample and a feature vector, given
    the private attribute; high for pairs that belong together.

    "small": the three side by side, 128 hidden values, one output; a picture is averaged to 8×8 pixels.
    "paper": Table 3; for a picture the features are maps, scaled to the picture's size, and classes are maps
    of zeros and ones.
    """

    def __init__(self, sizes: Sizes, size: CriticSize) -> None:
        super().__init__()
        self.classes = sizes.private
        flat = len(sizes.spec.sides) < 2
        self.shrunk = size == "small" and not flat
        self.maps = _maps(sizes) if size == "paper" and not flat else None
        if self.maps is not None:
            side = sizes.spec.shape[0]
            before = sizes.spec.shape[2] + self.maps[0] + sizes.private
            values = MAPS[-1][-1] * max(1, side // 2 ** len(MAPS)) ** 2
            self.net: nn.Module = nn.Sequential(
                *_convolutions(before, MAPS), nn.Flatten(), _linear([values, 4096, 512, 1])
            )
        else:
            values = SIDE * SIDE * sizes.spec.shape[2] if self.shrunk else math.prod(sizes.spec.shape)
            inputs = values + sizes.features + sizes.private
            self.net = _linear([inputs, *(TABLE if size == "paper" else (HIDDEN,)), 1])

    def forward(self, samples: Tensor, features: Tensor, private: Tensor) -> Tensor:
        """Score samples (B, ...) with features (B, N) and classes (B,): (B,)."""
        numbers = torch.arange(self.classes, device=private.device)
        classes = (private[:, None] == numbers).to(features.dtype)  # one_hot looks at values: no vmap over it
        if self.maps is None:
            if self.shrunk:
                samples = adaptive_avg_pool2d(samples, SIDE)
            joined = torch.cat([samples.flatten(1), features, classes], dim=1)
        else:
            channels, side = self.maps
            maps = interpolate(features.reshape(-1, channels, side, side), size=samples.shape[-2:])
            planes = classes[:, :, None, None].expand(-1, -1, *samples.shape[-2:])
            joined = torch.cat([samples, maps, planes], dim=1)
        scores: Tensor = self.net(joined).squeeze(1)
        return scores


def mutual_information(matched: Tensor, mixed: Tensor) -> Tensor:
    """The Jensen-Shannon estimate of mutual information (Hjelm et al. 2019) by a critic's scores of
    ``matched`` pairs, which belong together (B,), and of ``mixed`` ones, which do not (B,): -E sp(-matched) -
    E sp(mixed), at most 0, with sp the softplus. TAPPFL's JSD loss is its negative."""
    from torch.nn.functional import softplus

    return -softplus(-matched).mean() - softplus(mixed).mean()


def _linear(sizes: list[int]) -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def _convolutions(before: int, blocks: tuple[tuple[int, ...], ...]) -> list[nn.Module]:
    """Blocks of convolutions 3×3 with ReLU, each followed by a max pooling; a map of one value is not pooled
    further."""
    layers: list[nn.Module] = []
    for block in blocks:
        for after in block:
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(inplace=True)]
            before = after
        layers.append(nn.MaxPool2d(2, ceil_mode=True))
    return layers


def _maps(sizes: Sizes) -> tuple[int, int]:
    """Channels and side of the maps that the features are."""
    side = sizes.spec.shape[0] // 4
    channels, rest = divmod(sizes.features, side * side)
    if rest or sizes.spec.shape[0] != sizes.spec.shape[1]:
        raise ValueError(
            "the paper's critics for pictures need square ones and the net tappfl-conv; take small ones"
        )
    return channels, side
