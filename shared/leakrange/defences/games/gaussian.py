"""DPFE's game: the information of features about the private attribute, estimated from variances."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import override

from leakrange.defences.games import CriticSize
from leakrange.defences.games.game import Batch, Sizes
from leakrange.defences.games.task import TaskGame

__all__ = ["GaussianGame", "gaussian_information"]

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
