"""Heads in place of a fresh classifier's own: of one logit for each binary attribute, or of cosines."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from leakrange.nets.classifier import Classifier

__all__ = ["CosineHead", "OneLogitHead", "of_second", "with_cosines", "with_one_logit"]


class OneLogitHead(nn.Module):
    """Runs ``head``, which maps features to one logit (B, A) for each attribute, and gives (B, 2A): for each
    attribute 0 and its logit, side by side."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, features: Tensor) -> Tensor:
        """Logits (B, 2A), of which every other one is 0."""
        logits = cast(Tensor, self.head(features))
        return torch.stack([torch.zeros_like(logits), logits], dim=2).flatten(1)


def with_one_logit(net: Classifier) -> Classifier:
    """Turn a fresh ``net`` for A outputs into one for A binary attributes."""
    net.head = OneLogitHead(net.head)
    net.classes, net.heads = 2 * net.classes, (2,) * net.classes
    return net


def of_second(logits: Tensor) -> Tensor:
    """The second class's logit minus the first class's, for each binary attribute: (B, A), from logits (B,
    2A)."""
    return logits[:, 1::2] - logits[:, ::2]


class CosineHead(nn.Module):
    """Maps features (B, F) to logits (B, Y): the layers ``before`` transform the features, and the logits are
    ``scale`` times the cosines of the result with the rows of ``weight`` (Y, F)."""

    def __init__(self, before: nn.Sequential, weight: Tensor, scale: float) -> None:
        super().__init__()
        self.before = before
        self.weight = nn.Parameter(weight.detach())
        self.scale = scale

    def forward(self, features: Tensor) -> Tensor:
        """Logits (B, Y), from minus the scale to the scale."""
        directions = f.normalize(self.before(features), dim=1)
        return self.scale * f.linear(directions, f.normalize(self.weight, dim=1))


def with_cosines(net: Classifier, scale: float) -> Classifier:
    """A fresh ``net`` whose logits are ``scale`` times cosines. Raises `ValueError` where the last layer of
    its head is not linear."""
    *before, last = net.head if isinstance(net.head, nn.Sequential) else (net.head,)
    if not isinstance(last, nn.Linear):
        raise ValueError("cosines are made of a linear layer, and the last one of this net is none")
    net.head = CosineHead(nn.Sequential(*before), last.weight, scale)
    return net
