"""Torch's own optimisers, called in a way that does not load its compiler.

Making an object of `torch.optim` imports the compiler, some eight hundred modules: four seconds of processor
time in every process that trains, as much as the training of a small model takes. The functions that these
objects call do not import it. This module calls those directly, and keeps only the state between two steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.sgd import sgd

if TYPE_CHECKING:
    from leakrange.jobs.recipe import Schedule

__all__ = ["Adam", "AdamW", "Optimiser", "Sgd", "optimiser"]


class Optimiser(ABC):
    """Moves ``parameters`` against their gradients at the learning rate ``lr``, which may change from step to
    step and was ``initial``; ``weight_decay`` is the L2 kind."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0) -> None:
        self.parameters = list(parameters)
        self.lr = self.initial = lr
        self.weight_decay = weight_decay

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        numbers: list[int] = []
        parameters: list[Tensor] = []
        gradients: list[Tensor] = []
        for number, parameter in enumerate(self.parameters):
            if parameter.grad is not None:
                numbers.append(number)
                parameters.append(parameter)
                gradients.append(parameter.grad)
        self._move(numbers, parameters, gradients)

    def descend(self, loss: Tensor) -> Tensor:
        """One step down the gradient of ``loss``; gives the loss, detached."""
        self.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.step()
        return loss.detach()

    @abstractmethod
    def _move(self, numbers: list[int], parameters: list[Tensor], gradients: list[Tensor]) -> None:
        """Move the parameters of those numbers."""


class Adam(Optimiser):
    """`torch.optim.Adam` with its defaults."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr, weight_decay)
        self._first = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        self._second = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        self._steps = [torch.zeros(()) for _ in self.parameters]

    def _move(self, numbers: list[int], parameters: list[Tensor], gradients: list[Tensor]) -> None:
        adam(
            parameters,
            gradients,
            [self._first[i] for i in numbers],
            [self._second[i] for i in numbers],
            [],
            [self._steps[i] for i in numbers],
            foreach=False,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.lr,
            weight_decay=self.weight_decay,
            eps=1e-8,
            maximize=False,
        )


class AdamW(Adam):
    """`torch.optim.AdamW` with its defaults: ``weight_decay`` shrinks the parameters and is no gradient."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr)
        self.shrink = weight_decay

    def _move(self, numbers: list[int], parameters: list[Tensor], gradients: list[Tensor]) -> None:
        for parameter in parameters:
            parameter.mul_(1.0 - self.lr * self.shrink)
        super()._move(numbers, parameters, gradients)


class Sgd(Optimiser):
    """`torch.optim.SGD`: stochastic gradient descent, with ``momentum`` where it is above 0."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self.momentum = momentum
        self._velocity = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]

    def _move(self, numbers: list[int], parameters: list[Tensor], gradients: list[Tensor]) -> None:
        sgd(
            parameters,
            gradients,
            [self._velocity[i] for i in numbers],
            foreach=False,
            lr=self.lr,
            weight_decay=self.weight_decay,
            momentum=self.momentum,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )


def optimiser(parameters: Iterable[nn.Parameter], schedule: Schedule) -> Optimiser:
    """The optimiser that the schedule names, with its settings."""
    settings = schedule.optimiser
    if settings.name == "sgd":
        return Sgd(parameters, schedule.lr, settings.weight_decay, settings.momentum)
    return {"adam": Adam, "adamw": AdamW}[settings.name](parameters, schedule.lr, settings.weight_decay)
