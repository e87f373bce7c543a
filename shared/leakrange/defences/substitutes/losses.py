"""The loss of PASS as pure functions of log-probabilities, in nats.

L̂ = Σ L̂_S + λ Σ L̂_U + μ L̂_X (Eq. 3; the signs there are a slip: Eqs. 6 and 8 are to be minimised, see Eq. 37).
``log_p`` (B, K) is log P(X' = x'|X = x) of a batch of B samples and all K substitutes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as f

__all__ = ["general_loss", "private_loss", "substitution", "useful_loss"]

SMALLEST = 1e-30
"""Lower limit of a probability under a logarithm: less likely ones add nothing to an entropy, and have no
gradient."""


def substitution(embedded: Tensor, substitutes: Tensor, temperature: float) -> Tensor:
    """Eq. 2: log P(X'|X), (B, K), by the cosines of the embeddings f(x) (B, D) and g(x') (K, D)."""
    cosines = f.normalize(embedded, dim=1) @ f.normalize(substitutes, dim=1).T
    return torch.log_softmax(cosines / temperature, dim=1)


def private_loss(log_p: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Eqs. 4 and 5: −H(X'|S) of one private attribute, between −log K and 0.

    labels: (B,) of the batch. P(X'|S = s) is the mean over the samples of that class in the batch, weighed by
    the share of the class in it. A class that is not in the batch weighs nothing: so the mean over batches is
    no less than −H(X'|S), as Theorem 4.1 needs.
    """
    members = f.one_hot(labels, classes).to(log_p.dtype)
    counts = members.sum(dim=0)
    means = (members.T @ log_p.exp()) / counts.clamp_min(1.0).unsqueeze(1)
    entropies = -(means * means.clamp_min(SMALLEST).log()).sum(dim=1)
    return -(counts / len(labels)) @ entropies


def useful_loss(log_p: Tensor, labels: Tensor, substitute_labels: Tensor, classes: int) -> Tensor:
    """Eqs. 6 and 7: log |U| · E[−log P(U' = U|X)] of one useful attribute, 0 or more.

    labels: (B,) of the batch; substitute_labels: (K,), of which each class of ``labels`` needs one at least.
    """
    fits = labels.unsqueeze(1) == substitute_labels.unsqueeze(0)
    log_fit = torch.logsumexp(log_p.masked_fill(~fits, -math.inf), dim=1)
    return -math.log(classes) * log_fit.mean()


def general_loss(log_p: Tensor) -> Tensor:
    """Eq. 8: H(X'|X), the mean entropy of a sample's substitutes, between 0 and log K."""
    return -(log_p.exp() * log_p).sum(dim=1).mean()
