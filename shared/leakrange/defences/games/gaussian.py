"""DPFE's game: what features tell of the private attribute, taken from variances."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import override

from leakrange.defences.games.game import Batch
from leakrange.defences.games.task import TaskGame

__all__ = ["GaussianGame", "gaussian_information"]

FLOOR = 1e-3
"""Variance that is added to that of every feature."""


class GaussianGame(TaskGame):
    """The extractor is trained against `gaussian_information`. The adversary learns to infer the private
    attribute from the features as they come, and tells how well that goes; the extractor does not feel it.
    """

    @override
    def revealing(self, features: Tensor, batch: Batch, inferring: Tensor) -> Tensor:
        """See `Game.revealing`: the estimate, in nats."""
        return gaussian_information(features, batch.private)


def gaussian_information(features: Tensor, private: Tensor, floor: float = FLOOR) -> Tensor:
    """An estimate of I(r; u) in nats for features r (B, N) and classes u (B,), as if each feature were
    Gaussian, given the class and at large, and independent of the others:
    ½·Σ log var(r) - Σ_u p(u)·½·Σ log var(r|u).

    ``floor`` is added to every variance, so that a constant feature counts nothing. A class with fewer than
    two samples has no variance and is left out, as if the batch did not hold it; with fewer than two other
    classes the estimate is 0. Few samples of a class make it too high. It can also exceed the entropy of u,
    which I(r; u) cannot.
    """
    classes, numbers = torch.unique(private, return_counts=True)
    classes = classes[numbers > 1]
    if len(classes) < 2:
        return features.sum() * 0.0
    kept = features[torch.isin(private, classes)]
    spread = _log_variances(kept, floor)
    for each in classes:
        own = features[private == each]
        spread = spread - len(own) / len(kept) * _log_variances(own, floor)
    return spread / 2.0


def _log_variances(features: Tensor, floor: float) -> Tensor:
    return torch.log(features.var(dim=0, correction=0) + floor).sum()
