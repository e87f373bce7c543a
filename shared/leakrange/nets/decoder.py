"""The attack net G of Honest-but-Curious Nets, Table 13: from a released vector to a hidden attribute."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from leakrange.nets.dropout import Dropout

__all__ = ["AttackNet"]

WIDEST = 16


class AttackNet(nn.Module):
    """N → 20N → 10N → S, LeakyReLU .01, dropout .25; (B, N) to logits (B, S).

    The paper's N is at most 5. Above 16 (a ``features`` release) the hidden layers stay at 320 and 160, or
    they would have millions of parameters for a few hundred records.
    """

    def __init__(self, inputs: int, classes: int, dropout: float = 0.25) -> None:
        super().__init__()
        scale = min(inputs, WIDEST)
        self.inputs = inputs
        self.classes = classes
        self.layers = nn.Sequential(
            nn.Linear(inputs, 20 * scale),
            nn.LeakyReLU(0.01),
            Dropout(dropout),
            nn.Linear(20 * scale, 10 * scale),
            nn.LeakyReLU(0.01),
            Dropout(dropout),
            nn.Linear(10 * scale, classes),
        )

    def forward(self, releases: Tensor) -> Tensor:
        """Logits (B, S) of the hidden attribute."""
        return cast(Tensor, self.layers(releases))
