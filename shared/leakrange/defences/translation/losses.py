"""What translators are trained by, as functions of tensors; all in nats, means over the batch.

``logits`` (B, C) are an adversary's of one attribute, ``labels`` (B,), ``prior`` (C,) the classes' shares.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as f

__all__ = ["divergence", "entropy", "evasion", "info_nce", "information", "masked", "nt_xent"]

LEAST = 1e-6
"""Of what a logarithm is taken, at least."""


def divergence(logits: Tensor, prior: Tensor) -> Tensor:
    """KL(p(s|x') ‖ p(s)): 0 where the adversary knows no more than the prior."""
    log_p = logits.log_softmax(dim=1)
    return (log_p.exp() * (log_p - prior.clamp(min=LEAST).log())).sum(dim=1).mean()


def entropy(prior: Tensor) -> Tensor:
    """H(S) of the shares of the classes."""
    return cast(Tensor, torch.special.entr(prior)).sum()


def information(logits: Tensor, labels: Tensor, prior: Tensor) -> Tensor:
    """H(S) − H(S|X') as the adversary estimates it: a lower bound of I(X'; S), negative where it errs."""
    return entropy(prior) - f.cross_entropy(logits, labels)


def evasion(logits: Tensor, labels: Tensor) -> Tensor:
    """−log(1 − p_s) − log(1 − max p): that the class is right, and that it is any class for certain."""
    p = logits.softmax(dim=1)
    right, most = p.gather(1, labels.unsqueeze(1)).squeeze(1), p.amax(dim=1)
    return -((1.0 - right).clamp(min=LEAST).log() + (1.0 - most).clamp(min=LEAST).log()).mean()


def info_nce(found: Tensor, given: Tensor, temperature: float) -> Tensor:
    """How badly each of ``found`` (B, D) tells its own of ``given`` (B, D) from the batch's others, and the
    other way round, by cosines: ln B where neither can."""
    cosines = f.normalize(found, dim=1) @ f.normalize(given, dim=1).T / temperature
    own = torch.arange(len(found), device=found.device)
    return (f.cross_entropy(cosines, own) + f.cross_entropy(cosines.T, own)) / 2


def nt_xent(one: Tensor, other: Tensor, temperature: float) -> Tensor:
    """SimCLR's loss of two views (B, D) of each sample: each of the 2B has to find its other view among all
    the rest."""
    both = f.normalize(torch.cat([one, other]), dim=1)
    cosines = (both @ both.T / temperature).fill_diagonal_(-torch.inf)
    return f.cross_entropy(cosines, torch.arange(len(both), device=both.device).roll(len(one)))


def masked(x: Tensor, share: float) -> Tensor:
    """A view of samples (B, C, …): a ``share`` of the places is 0. Draws from torch's generator."""
    places = x[:, :1] if x.ndim > 2 else x
    return x * (torch.rand_like(places) >= share)
