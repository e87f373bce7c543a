"""A small net that predicts one vector from another."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

__all__ = ["Regressor"]

HIDDEN = 128


class Regressor(nn.Module):
    """The sum of a linear map and a perceptron of two hidden layers of 128 values; both are 0 at first."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.rest = nn.Sequential(
            nn.Linear(inputs, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, outputs),
        )
        for layer in (self.linear, self.rest[-1]):
            nn.init.zeros_(cast(nn.Linear, layer).weight)
            nn.init.zeros_(cast(nn.Linear, layer).bias)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors (B, outputs) of ``x`` (B, inputs)."""
        return cast(Tensor, self.linear(x) + self.rest(x))

    def start_from(self, x: Tensor, y: Tensor, penalty: float) -> None:
        """Set the linear map to the ridge regression of ``y`` (N, outputs) on ``x`` (N, inputs), both of mean
        0 or nearly, with N times that ``penalty``."""
        with torch.no_grad():
            within = x.T @ x / len(x) + penalty * torch.eye(x.shape[1])
            self.linear.weight.copy_(torch.linalg.solve(within, x.T @ y / len(x)).T)
