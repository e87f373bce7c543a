"""Several attack nets of one shape in one module: training all of them costs little more than one."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from leakrange.nets.decoder import AttackNet
from leakrange.nets.dropout import Dropout

__all__ = ["StackedAttackNets"]


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
