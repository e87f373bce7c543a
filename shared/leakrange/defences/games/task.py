"""The game of defences that know the task: features that still tell its attributes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from leakrange.defences.games import CriticSize
from leakrange.defences.games.critics import adversary
from leakrange.defences.games.game import Batch, Game, Sizes

__all__ = ["TaskGame"]

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
