"""Nets of attackers: from a released vector to a hidden attribute (G of Honest-but-Curious Nets, Table 13),
or to another vector."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from leakrange.nets.dropout import Dropout

__all__ = ["AttackNet", "Regressor", "StackedAttackNets"]

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


class StackedAttackNets(nn.Module):
    """Several ``nets``, all of one shape and freshly initialised, side by side: (F, B, N) to logits (F, B,
    S).

    Net i sees slice i alone, so each learns as if it were trained by itself.
    """

    def __init__(self, nets: list[AttackNet]) -> None:
        super().__init__()
        linear = [[layer for layer in net.layers if isinstance(layer, nn.Linear)] for net in nets]
        self.weights = nn.ParameterList(
            torch.stack([layer.weight.detach().T for layer in layers]) for layers in zip(*linear, strict=True)
        )
        self.biases = nn.ParameterList(
            torch.stack([layer.bias.detach() for layer in layers]).unsqueeze(1)
            for layers in zip(*linear, strict=True)
        )
        self.dropout = next(layer for layer in nets[0].layers if isinstance(layer, Dropout))

    def forward(self, releases: Tensor) -> Tensor:
        """Logits (F, B, S)."""
        values = releases
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = torch.baddbmm(bias, values, weight)
            if i < last:
                values = self.dropout(f.leaky_relu(values, 0.01))
        return values


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
