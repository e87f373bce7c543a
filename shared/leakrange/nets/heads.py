"""One vector of outputs for several attributes: each has a head, and the heads lie side by side.

``heads`` are the numbers of classes, in order; one head is a plain vector of outputs. Labels are (B,) of one
attribute, (B, A) of several.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["Heads", "answers", "log_soft", "mean_loss", "soft"]

Heads = tuple[int, ...]


def soft(logits: Tensor, heads: Heads) -> Tensor:
    """The softmax of each head of logits (B, N)."""
    return torch.cat([head.softmax(dim=1) for head in torch.split(logits, list(heads), dim=1)], dim=1)


def log_soft(logits: Tensor, heads: Heads) -> Tensor:
    """The logarithm of `soft`."""
    return torch.cat([head.log_softmax(dim=1) for head in torch.split(logits, list(heads), dim=1)], dim=1)


def answers(outputs: Tensor, heads: Heads) -> Tensor:
    """The class of the greatest entry of each head: (B,) of one head, (B, A) of several."""
    if len(heads) == 1:
        return outputs.argmax(dim=1)
    return torch.stack([head.argmax(dim=1) for head in torch.split(outputs, list(heads), dim=1)], dim=1)


def mean_loss(
    loss: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, labels: Tensor, heads: Heads
) -> Tensor:
    """The mean over the heads of the ``loss`` of each one's outputs and labels."""
    if len(heads) == 1:
        return loss(outputs, labels)
    parts = zip(torch.split(outputs, list(heads), dim=1), labels.unbind(dim=1), strict=True)
    return torch.stack([loss(head, truth) for head, truth in parts]).mean()
