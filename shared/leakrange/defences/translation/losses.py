"""Losses of translators, as functions of tensors; all in nats, means over the batch.

``logits`` (B, C) are an adversary's of one attribute, ``labels`` (B,), ``prior`` (C,) the classes' shares.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as f

__all__ = ["divergence", "entropy", "evasion", "info_nce", "information", "masked", "nt_xent"]

LEAST = 1e-6
"""Lower limit of a number whose logarithm is taken."""


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
    """−log(1 − p_s) − log(1 − max p): high where the adversary's class is right, and where it is certain of
    any."""
    p = logits.softmax(dim=1)
    right, highest = p.gather(1, labels.unsqueeze(1)).squeeze(1), p.amax(dim=1)
    return -((1.0 - right).clamp(min=LEAST).log() + (1.0 - highest).clamp(min=LEAST).log()).mean()


def info_nce(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Loss of recognising, by cosines, each row of ``first`` (B, D) among those of ``second`` (B, D), and the
    other way round: ln B where neither is possible."""
    cosines = f.normalize(first, dim=1) @ f.normalize(second, dim=1).T / temperature
    same = torch.arange(len(first), device=first.device)
    return (f.cross_entropy(cosines, same) + f.cross_entropy(cosines.T, same)) / 2


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """SimCLR's loss of two views (B, D) of each sample: each of the 2B has to recognise its other view among
    all the rest."""
    views = f.normalize(torch.cat([first, second]), dim=1)
    cosines = (views @ views.T / temperature).fill_diagonal_(-torch.inf)
    return f.cross_entropy(cosines, torch.arange(len(views), device=views.device).roll(len(first)))


def masked(x: Tensor, share: float) -> Tensor:
    """A view of samples (B, C, …): a ``share`` of the places is 0. Draws from torch's generator."""
    places = x[:, :1] if x.ndim > 2 else x
    return x * (torch.rand_like(places) >= share)
