"""Nets from a sample to a sample of its shape and range. Their form is ours: the papers' nets are each made
for one kind of sample."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from leakrange.nets import scaled
from leakrange.wire.samples import SampleSpec

__all__ = ["Autoencoder", "Translator", "ValueRange"]

WIDTHS = (16, 32, 64)
"""Channels at full size, at half of it and at a quarter."""
HIDDEN = 128
NEARLY = 0.99
"""Share of its range that an unchanged value uses, so that its gradient does not vanish at the ends."""
LEAST = 1e-6
"""Lower limit of the reach of a channel, which may be constant."""
CONVOLUTIONS: dict[int, tuple[type[nn.Module], int]] = {2: (nn.Conv2d, 3), 1: (nn.Conv1d, 5)}
"""Convolution and side of its kernel, by the number of sides that a sample has."""


class Translator(nn.Module):
    """T: samples as `leakrange.nets.classifier.to_input` gives them to samples of that form.

    Samples with sides, such as pictures and series, go through a small U-Net, others through two hidden
    layers; its output is added to the sample, within its `ValueRange`. With ``noisy``, it takes noise of the
    form of the samples beside them.
    """

    def __init__(self, spec: SampleSpec, width: float = 1.0, noisy: bool = False) -> None:
        super().__init__()
        self.range = ValueRange(spec)
        channels = spec.shape[-1]
        before = channels * 2 if noisy else channels
        if spec.sides:
            self.layers: nn.Module = _UNet(spec, before, [scaled(full, width) for full in WIDTHS])
        else:
            hidden = scaled(HIDDEN, width)
            layers = [nn.Linear(before, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU()]
            self.layers = nn.Sequential(*layers, nn.Linear(hidden, channels))

    def forward(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        """x' of the shape of ``x``."""
        joined = x if noise is None else torch.cat([x, noise], dim=1)
        return self.range.moved(x, cast(Tensor, self.layers(joined)))


class Autoencoder(nn.Module):
    """A picture through ``latent`` numbers in [-1, 1], to which ``noise`` (B, latent) is added, and back."""

    def __init__(self, spec: SampleSpec, latent: int, width: float = 1.0) -> None:
        super().__init__()
        self.range = ValueRange(spec)
        height, breadth, channels = spec.shape
        widths = [channels, *(scaled(full, width) for full in WIDTHS)]
        self.sizes = [(height, breadth)]
        for _ in WIDTHS:
            self.sizes.append(((self.sizes[-1][0] + 1) // 2, (self.sizes[-1][1] + 1) // 2))
        steps = list(pairwise(widths))
        self.down = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in steps)
        self.up = nn.ModuleList(nn.Conv2d(b, a, 3, padding=1) for a, b in reversed(steps))
        flat = widths[-1] * self.sizes[-1][0] * self.sizes[-1][1]
        self.inward = nn.Linear(flat, latent)
        self.outward = nn.Linear(latent, flat)

    def encode(self, x: Tensor) -> Tensor:
        """Pictures (B, C, H, W) to (B, latent)."""
        for layer in self.down:
            x = f.silu(layer(x))
        return cast(Tensor, self.inward(x.flatten(1))).tanh()

    def decode(self, latent: Tensor) -> Tensor:
        """(B, latent) to pictures (B, C, H, W)."""
        x = f.silu(self.outward(latent)).reshape(len(latent), -1, *self.sizes[-1])
        for number, layer in enumerate(self.up):
            x = layer(f.interpolate(x if number == 0 else f.silu(x), size=self.sizes[-2 - number]))
        return self.range.within(x)

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """x' of the shape of ``x``."""
        return self.decode(self.encode(x) + noise)


class _UNet(nn.Module):
    """A U-Net: down by strides of 2 and up again; each size on the way up is joined with that on the way
    down."""

    def __init__(self, spec: SampleSpec, before: int, widths: Sequence[int]) -> None:
        super().__init__()
        kind, side = CONVOLUTIONS[len(spec.sides)]

        def layer(a: int, b: int, stride: int = 1) -> nn.Module:
            return kind(a, b, side, stride=stride, padding=side // 2)

        steps = list(pairwise(widths))
        self.first = layer(before, widths[0])
        self.down = nn.ModuleList(layer(a, b, 2) for a, b in steps)
        self.up = nn.ModuleList(layer(a + b, a) for a, b in reversed(steps))
        self.last = layer(widths[0], spec.shape[-1])

    def forward(self, x: Tensor) -> Tensor:
        """(B, before, …) to (B, C, …)."""
        skips = [f.silu(self.first(x))]
        for layer in self.down:
            skips.append(f.silu(layer(skips[-1])))
        x = skips.pop()
        for layer in self.up:
            skip = skips.pop()
            x = f.silu(layer(torch.cat([f.interpolate(x, size=skip.shape[2:]), skip], dim=1)))
        return cast(Tensor, self.last(x))


class ValueRange(nn.Module):
    """The values that a net may give, by channel: for bytes 0 to 255, for floats those that `fit` saw."""

    middle: Tensor
    reach: Tensor

    def __init__(self, spec: SampleSpec) -> None:
        super().__init__()
        self.learns = spec.dtype != "uint8"
        each, channels_first = torch.ones(spec.shape[-1]), (-1, *(1 for _ in spec.shape[:-1]))
        reach = each if self.learns else each * 127.5 / torch.tensor(spec.scale)
        middle = each * 0.0 if self.learns else reach + torch.tensor(spec.offset)
        self.register_buffer("reach", reach.reshape(channels_first))
        self.register_buffer("middle", middle.reshape(channels_first))

    def fit(self, x: Tensor) -> None:
        """Learn the range of samples (N, C, …) as nets take them."""
        if self.learns:
            flat = x.transpose(0, 1).flatten(1)
            lowest, highest = (ends.view_as(self.middle) for ends in (flat.amin(1), flat.amax(1)))
            self.middle.copy_((highest + lowest) / 2)
            self.reach.copy_(((highest - lowest) / 2).clamp(min=LEAST))

    def within(self, y: Tensor) -> Tensor:
        """Map any numbers (B, C, …) to values in the range."""
        return self.middle + self.reach * y.tanh()

    def moved(self, x: Tensor, by: Tensor) -> Tensor:
        """Move the values ``x``, and keep them within the range."""
        return self.within((NEARLY * ((x - self.middle) / self.reach).clamp(-1.0, 1.0)).atanh() + by)
