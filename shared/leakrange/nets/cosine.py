"""Classifiers whose logits are cosines: only the angle between features and the weights of a class counts."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as f

from leakrange.nets.classifier import Classifier

__all__ = ["CosineHead", "with_cosines"]


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
