"""The games that devices play when they learn an extractor together: nets that a device keeps to itself, of
which some help the extractor, and one that it is trained against."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, cross_entropy, interpolate
from typing_extensions import override

from leakrange.federation.settings import CriticSize
from leakrange.wire.samples import SampleSpec

__all__ = [
    "Batch",
    "Game",
    "GaussianGame",
    "InformationGame",
    "Sizes",
    "TaskGame",
    "gaussian_information",
    "mutual_information",
]


@dataclass(frozen=True)
class Sizes:
    """Sizes that nets are built for: samples of ``spec``, feature vectors of length ``features``, and the
    numbers of classes of the ``private`` attribute and of each of the ``useful`` ones."""

    spec: SampleSpec
    features: int
    private: int
    useful: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """A batch of ``samples`` as nets take them (B, ...), with the class of the ``private`` attribute (B,) and
    of the ``useful`` ones (B, A) for each; ``others`` (B, ...) are independent samples of the same device."""

    samples: Tensor
    private: Tensor
    useful: Tensor
    others: Tensor

    def columns(self, begin: int = 0, end: int | None = None) -> tuple[Tensor, ...]:
        """All four columns, of the samples from ``begin`` up to ``end``."""
        return tuple(each[begin:end] for each in (self.samples, self.private, self.useful, self.others))


class Game(nn.Module, ABC):
    """The nets that one device keeps to itself.

    The ``adversary`` infers the private attribute from features (B, N): the extractor is trained against it,
    with weight ``against``. The loss `keeping`, which keeps the features useful, is trained with the
    extractor, with weight ``1 - against``. In a pretraining the weight ``against`` is 0.
    """

    def __init__(self, adversary: nn.Module, against: float) -> None:
        super().__init__()
        self.adversary = adversary
        self.against = against

    def inferring(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of the adversary: the cross-entropy of its inference, in nats."""
        return cross_entropy(self.adversary(features), batch.private)

    def revealing(self, features: Tensor, batch: Batch, inferring: Tensor) -> Tensor:  # noqa: ARG002
        """The loss that the extractor makes small so that the private attribute stays hidden: the adversary's
        loss with the other sign."""
        return -inferring

    def forward(self, features: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """The losses of a batch: `inferring`, `keeping` and `revealing`. `torch.vmap` goes over it: no loss
        may depend on values by branches or by shapes."""
        inferring = self.inferring(features, batch)
        revealing = self.revealing(features, batch, inferring)
        return inferring, self.keeping(features, batch), revealing

    @abstractmethod
    def keeping(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss that keeps the features useful: the extractor makes it small as well."""


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

    "paper": Table 3, which for pictures needs the features of `leakrange.nets.architectures.tappfl`.
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


class InformationGame(Game):
    """The adversary g and the critic h of TAPPFL (Equations 4 and 6)."""

    def __init__(self, sizes: Sizes, against: float, size: CriticSize) -> None:
        super().__init__(adversary(sizes, size), against)
        self.critic = Critic(sizes, size)

    def keeping(self, features: Tensor, batch: Batch) -> Tensor:
        """The JSD loss. Pairs that do not belong together are made with independent samples."""
        repeated, classes = features.repeat(2, 1), batch.private.repeat(2)
        matched, mixed = self.critic(torch.cat([batch.samples, batch.others]), repeated, classes).chunk(2)
        return -mutual_information(matched, mixed)


HIDDEN = 64
"""Values between the layers of each head."""


class TaskGame(Game):
    """The adversary, and a head for each useful attribute that the device trains with the extractor."""

    def __init__(self, sizes: Sizes, against: float, size: CriticSize) -> None:
        super().__init__(adversary(sizes, size), against)
        self.heads = nn.ModuleList(
            nn.Sequential(
                nn.Linear(sizes.features, HIDDEN), nn.ReLU(inplace=True), nn.Linear(HIDDEN, classes)
            )
            for classes in sizes.useful
        )

    def keeping(self, features: Tensor, batch: Batch) -> Tensor:
        """The sum of the cross-entropies of the heads, in nats."""
        losses = [
            cross_entropy(head(features), batch.useful[:, place]) for place, head in enumerate(self.heads)
        ]
        return torch.stack(losses).sum()


FLOOR = 1e-3
"""Variance that is added to that of every feature."""


class GaussianGame(TaskGame):
    """The extractor is trained against `gaussian_information`. The adversary learns to infer the private
    attribute from the finished features, and shows how well that goes; the extractor gets no gradient from
    it."""

    def __init__(self, sizes: Sizes, against: float, size: CriticSize) -> None:
        super().__init__(sizes, against, size)
        self.classes = sizes.private

    @override
    def revealing(self, features: Tensor, batch: Batch, inferring: Tensor) -> Tensor:
        """See `Game.revealing`: the estimate, in nats."""
        return gaussian_information(features, batch.private, self.classes)


def gaussian_information(features: Tensor, private: Tensor, classes: int, floor: float = FLOOR) -> Tensor:
    """An estimate of I(r; u) in nats for features r (B, N) and u (B,) of so many ``classes``, as if each
    feature were Gaussian, given the class and at large, and independent of the others: ½·Σ log var(r) - Σ_u
    p(u)·½·Σ log var(r|u).

    ``floor`` is added to every variance, so that a constant feature counts nothing. A class with fewer than
    two samples has no variance and is left out, as if the batch did not hold it; with fewer than two other
    classes the estimate is 0. With few samples of a class it is too high. It can also exceed the entropy of
    u, which I(r; u) cannot.
    """
    member = (private[:, None] == torch.arange(classes, device=private.device)).to(features.dtype)
    member = member * (member.sum(dim=0) > 1)
    numbers = member.sum(dim=0)
    shares = numbers / numbers.sum().clamp(min=1.0)
    spread = _log_variances(features, member.sum(dim=1), floor)
    for each in range(classes):
        spread = spread - shares[each] * _log_variances(features, member[:, each], floor)
    return torch.where((numbers > 0).sum() > 1, spread / 2.0, 0.0)


def _log_variances(features: Tensor, weights: Tensor, floor: float) -> Tensor:
    """Sum of the log-variances of the features (B, N), over the samples whose weight (B,) is 1 and not 0."""
    shares = (weights / weights.sum().clamp(min=1.0))[:, None]
    deviations = features - (shares * features).sum(dim=0)
    return torch.log((shares * deviations.square()).sum(dim=0) + floor).sum()
