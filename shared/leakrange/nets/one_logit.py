"""Binary attributes with one logit each: the other class's logit is 0, so that the softmax of both is the
sigmoid of the one."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from leakrange.nets.classifier import Classifier

__all__ = ["OneLogitHead", "of_second", "with_one_logit"]


class OneLogitHead(nn.Module):
    """``head``: features to one logit (B, A) for each attribute. Gives (B, 2A): 0 and the logit, side by side
    for each attribute."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, features: Tensor) -> Tensor:
        """Logits (B, 2A), of which every other one is 0."""
        logits = cast(Tensor, self.head(features))
        return torch.stack([torch.zeros_like(logits), logits], dim=2).flatten(1)


def with_one_logit(net: Classifier) -> Classifier:
    """A fresh ``net`` for A outputs as one for A binary attributes."""
    net.head = OneLogitHead(net.head)
    net.classes, net.heads = 2 * net.classes, (2,) * net.classes
    return net


def of_second(logits: Tensor) -> Tensor:
    """The logit (B, A) of each binary attribute's second class over that of its first, of logits (B, 2A)."""
    return logits[:, 1::2] - logits[:, ::2]
