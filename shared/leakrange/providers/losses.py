"""The losses of Honest-but-Curious Nets as pure functions of tensors. Entropies are in nats."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as f

from leakrange.nets.heads import Heads, mean_loss, soft

__all__ = [
    "convex_loss",
    "distillation_loss",
    "entropy",
    "entropy_levels_loss",
    "parameterized_loss",
    "regularized_loss",
    "softened",
    "target_loss",
]

HIGHEST, PULL = 0.9, 4.0
"""For `entropy_levels_loss`: the highest level as a share of ln Y, and the factor of β^s."""
EPSILON = 1e-16
"""Added inside logarithms of soft outputs, like in the code of the paper's authors."""


def target_loss(released: Tensor, labels: Tensor, kind: Literal["logits", "softmax"]) -> Tensor:
    """Mean cross-entropy H_y(ŷ) of ``released`` (B, Y) with ``labels`` (B,); of soft outputs, −log(ŷ_y +
    1e-16)."""
    if kind == "logits":
        return f.cross_entropy(released, labels)
    return f.nll_loss((released + EPSILON).log(), labels)


def entropy(probabilities: Tensor) -> Tensor:
    """Shannon entropy of each row of (B, Y), in nats: 0 to ln Y."""
    return -(probabilities * (probabilities + EPSILON).log()).sum(dim=1)


def regularized_loss(
    probabilities: Tensor, target: Tensor, sensitive: Tensor, *, beta_y: float, beta_s: float
) -> Tensor:
    """HBC Eq. 3: cross-entropy for y, plus the entropy where s = 0, minus the entropy where s = 1.

    Each entropy is a mean over the class's samples in the batch, so that a rare class pulls as hard as a
    common one; a class that the batch lacks adds nothing.
    """
    entropies = entropy(probabilities)
    honest = target_loss(probabilities, target, "softmax")
    curious = sum(
        sign * (entropies * members).sum() / members.sum().clamp(min=1)
        for sign, members in ((1.0, sensitive == 0), (-1.0, sensitive == 1))
    )
    return beta_y * honest + beta_s * curious


def entropy_levels_loss(
    probabilities: Tensor,
    target: Tensor,
    sensitive: Tensor,
    *,
    classes: int,
    beta_y: float,
    beta_s: float,
) -> Tensor:
    """Eq. 3 for any number of ``classes`` of s: cross-entropy for y, plus the distance of each sample's
    entropy from the level of its s.

    The levels are evenly spaced from 0 to .9·ln Y. The distance is squared, in units of ln Y, and weighs four
    times β^s: entropies are then apart after a few hundred steps.
    """
    highest = math.log(probabilities.shape[1])
    levels = HIGHEST * sensitive / (classes - 1)
    distance = (entropy(probabilities) / highest - levels).square().mean()
    return beta_y * target_loss(probabilities, target, "softmax") + PULL * beta_s * distance


def convex_loss(logits: Tensor, target: Tensor, sensitive: Tensor, *, beta_y: float, beta_s: float) -> Tensor:
    """HBC Eq. 12: β^y·H(y|ŷ) + β^s·H(s|ŷ) of one output for both attributes, from logits (B, N) and labels
    (B,).

    The loss is convex in the logits, hence in the weights of a linear net. For two classes and weights that
    add up to 1 it is −z·log ŷ − (1 − z)·log(1 − ŷ) with z = β^y·y + β^s·s, ŷ being the second entry of the
    softmax.
    """
    return beta_y * f.cross_entropy(logits, target) + beta_s * f.cross_entropy(logits, sensitive)


def parameterized_loss(
    logits: Tensor,
    target: Tensor,
    inferred: Tensor,
    sensitive: Tensor,
    *,
    kind: Literal["logits", "softmax"],
    beta_x: float,
    beta_y: float,
    beta_s: float,
    heads: Heads | None = None,
    hidden: Heads | None = None,
) -> Tensor:
    """HBC Eq. 10: β^x·H(ŷ) + β^y·H(y|ŷ) + β^s·H(s|ŷ), where ``inferred`` (B, S) are the logits of G on the
    release.

    With several targets or hidden attributes, whose outputs and inferred logits lie side by side in ``heads``
    and ``hidden``, each term is the mean over the attributes.
    """
    heads, hidden = heads or (logits.shape[1],), hidden or (inferred.shape[1],)
    released = logits if kind == "logits" else soft(logits, heads)
    honest = mean_loss(partial(target_loss, kind=kind), released, target, heads)
    loss = beta_y * honest + beta_s * mean_loss(f.cross_entropy, inferred, sensitive, hidden)
    if beta_x:
        loss = loss + beta_x * entropy(soft(logits, heads)).mean() / len(heads)
    return loss


def softened(probabilities: Tensor, temperature: float) -> Tensor:
    """Soft outputs (B, Y) at another ``temperature``: p^(1/t), renormalised, which is softmax(logits / t).

    Outputs that a defence moved off the simplex are brought back first: negative values count as 0, and where
    none is positive the result is uniform.
    """
    top = probabilities.max(dim=1, keepdim=True).values
    # Relative to the highest, so that no power under- or overflows it.
    share = torch.where(top > 0, probabilities.clamp(min=0.0) / top.clamp(min=1e-30), 1.0)
    powered = share ** (1.0 / temperature)
    return powered / powered.sum(dim=1, keepdim=True)


def distillation_loss(teacher: Tensor, logits: Tensor, *, temperature: float = 1.0) -> Tensor:
    """HBC Eq. 11: Σ p·log(p / q), mean over the batch, with p the ``teacher``'s soft outputs (B, Y) and q
    those of the student's ``logits`` (B, Y), both at ``temperature``. 0·log 0 is 0.

    Both are softened, so that a student which has learned everything equals the teacher at temperature 1,
    too.
    """
    student = (logits / temperature).log_softmax(dim=1)
    return f.kl_div(student, softened(teacher, temperature), reduction="batchmean")
