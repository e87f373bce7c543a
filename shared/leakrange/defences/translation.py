"""Nets from a sample to a sample of its shape and range, and losses that translators x' = T(x) go down. The
form of the nets is ours: the papers' are each made for one kind of sample. Torch is needed here.

Losses are in nats, means over the batch: ``logits`` (B, C) are an adversary's of one attribute, ``labels``
(B,), ``prior`` (C,) the classes' shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from leakrange.nets import scaled
from leakrange.wire.samples import SampleSpec

__all__ = [
    "Autoencoder",
    "Translator",
    "divergence",
    "entropy",
    "evasion",
    "info_nce",
    "information",
    "masked",
    "nt_xent",
]

LEAST = 1e-6
"""Lower limit of a number whose logarithm is taken."""


def divergence(logits: Tensor, prior: Tensor) -> Tensor:
    """KL(p(s|x') ‖ p(s)): 0 where the adversary knows no more than the prior."""
    log_p = logits.log_softmax(dim=1)
    return (log_p.exp() * (log_p - prior.clamp(min=LEAST).log())).sum(dim=1).mean()


def entropy(prior: Tensor) -> Tensor:
    """H(S) of the shares of the classes."""
    return cast(Tensor, torch.special.entr(prior)).sum()


def information(logits: Tensor, labels: Tensor, prior: Tensor) -> Tensor:
    """H(S) − H(S|X') as the adversary estimates it: a lower bound of I(X'; S), negative where it errs."""
    return entropy(prior) - f.cross_entropy(logits, labels)


def evasion(logits: Tensor, labels: Tensor) -> Tensor:
    """−log(1 − p_s) − log(1 − max p): high where the adversary's class is right, and where it is certain of
    any."""
    p = logits.softmax(dim=1)
    right, highest = p.gather(1, labels.unsqueeze(1)).squeeze(1), p.amax(dim=1)
    return -((1.0 - right).clamp(min=LEAST).log() + (1.0 - highest).clamp(min=LEAST).log()).mean()


def info_nce(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Loss of recognising, by cosines, each row of ``first`` (B, D) among those of ``second`` (B, D), and the
    other way round: ln B where neither is possible."""
    cosines = f.normalize(first, dim=1) @ f.normalize(second, dim=1).T / temperature
    same = torch.arange(len(first), device=first.device)
    return (f.cross_entropy(cosines, same) + f.cross_entropy(cosines.T, same)) / 2


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """SimCLR's loss of two views (B, D) of each sample: each of the 2B has to recognise its other view among
    all the rest."""
    views = f.normalize(torch.cat([first, second]), dim=1)
    cosines = (views @ views.T / temperature).fill_diagonal_(-torch.inf)
    return f.cross_entropy(cosines, torch.arange(len(views), device=views.device).roll(len(first)))


def masked(x: Tensor, share: float) -> Tensor:
    """A view of samples (B, C, …): a ``share`` of the places is 0. Draws from torch's generator."""
    places = x[:, :1] if x.ndim > 2 else x
    return x * (torch.rand_like(places) >= share)


WIDTHS = (16, 32, 64)
"""Channels at full size, at half of it and at a quarter."""
HIDDEN = 128
NEARLY = 0.99
"""Share of its range that an unchanged value uses, so that its gradient does not vanish at the ends."""
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
