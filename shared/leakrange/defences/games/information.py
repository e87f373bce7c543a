"""TAPPFL's game: features with the most information about the sample, given the private attribute."""

from __future__ import annotations

import torch
from torch import Tensor

from leakrange.defences.games import CriticSize
from leakrange.defences.games.critics import Critic, adversary, mutual_information
from leakrange.defences.games.game import Batch, Game, Sizes

__all__ = ["InformationGame"]


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
