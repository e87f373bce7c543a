"""The loss of an angular margin, as a pure function of tensors."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as f

__all__ = ["margin_loss"]


def margin_loss(logits: Tensor, labels: Tensor, *, scale: float, margin: float) -> Tensor:
    """Mean cross-entropy of ``logits`` (B, Y), which are ``scale`` times cosines in [-1, 1], and ``labels``
    (B,), where the true class's cosine counts for ``margin`` less than it is (CosFace, Eq. 4: Wang et al.
    2018). With a margin of 0 it is the plain cross-entropy."""
    truth = f.one_hot(labels, logits.shape[1]).to(logits.dtype)
    return f.cross_entropy(logits - scale * margin * truth, labels)
