"""Binary attributes with one logit each: the other class's logit is 0, so that the softmax of both is the
sigmoid of the one."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from leakrange.nets.classifier import Classifier

__all__ = ["OneLogitHead", "of_second", "with_one_logit"]


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
