"""Adam, without what torch's own optimisers load."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

__all__ = ["Adam"]

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """The steps of `torch.optim.Adam` with its defaults.

    Making one of torch's optimisers imports its compiler, some eight hundred modules: seconds of processor
    time in every training process, as much as a small model takes to train. ``weight_decay`` is the L2 kind.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0) -> None:
        self.parameters = list(parameters)
        self.lr = lr
        self.weight_decay = weight_decay
        self.steps = 0
        self.first: list[Tensor] = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        self.second: list[Tensor] = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        self.steps += 1
        rate = self.lr / (1 - BETA1**self.steps)
        scale = (1 - BETA2**self.steps) ** 0.5
        for parameter, first, second in zip(self.parameters, self.first, self.second, strict=True):
            gradient = parameter.grad
            if gradient is None:
                continue
            if self.weight_decay:
                gradient = gradient.add(parameter, alpha=self.weight_decay)
            first.lerp_(gradient, 1 - BETA1)
            second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
            parameter.addcdiv_(first, (second.sqrt() / scale).add_(EPSILON), value=-rate)
