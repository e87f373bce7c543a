"""Entropy as a ground for suspicion (HBC Section 5.6, Fig. 8; Section 6.3; VICIOUS Appendix C): a classifier
that hides something in its outputs tends to be less sure of them than a standard one, unless it was trained
not to be (β^x > 0)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import mean_interval
from leakrange.wire.errors import InvalidInput
from leakrange.wire.heads import parted

__all__ = ["EntropyExcess", "entropy_excess"]


@dataclass(frozen=True)
class EntropyExcess:
    """Excess of a model's uncertainty over the one that its own mistakes call for, in bits.

    ``entropy`` is the mean H(ŷ), ``cross_entropy`` the mean H_y(ŷ) with the true labels, ``excess`` their
    difference, with its 95 % ``interval`` over the samples.
    """

    entropy: float
    cross_entropy: float
    excess: float
    interval: tuple[float, float]
    samples: int


def entropy_excess(
    logits: NDArray[np.floating],
    labels: NDArray[np.integer],
    heads: Sequence[int] = (),
    group: NDArray[np.integer] | None = None,
) -> EntropyExcess:
    """H(ŷ) − H_y(ŷ), which a vicious provider maximises (VICIOUS Eq. 13 with β = 1), of ``logits`` (M, N) and
    ``labels`` (M,). With several ``heads`` labels are (M, heads), and the heads' entropies are added up.
    ``group`` (M,) names the group of samples that resemble each other; the interval is then over groups.

    The reference is the model itself: the expected entropy of a model that is honest about how often it errs
    is its cross-entropy, so that 0 is expected. Overconfident models, as most nets are, lie below 0. Raises
    `InvalidInput` for fewer than two samples or groups, or labels that do not fit.
    """
    sizes = tuple(heads) or (logits.shape[1],)
    truth = np.asarray(labels).reshape(len(labels), -1)
    if len(logits) < 2 or truth.shape != (len(logits), len(sizes)):
        raise InvalidInput(f"outputs {logits.shape} and labels {labels.shape} do not fit {len(sizes)} heads")
    entropies, losses = np.zeros(len(logits)), np.zeros(len(logits))
    for head, of_head in zip(parted(np.asarray(logits, dtype=np.float64), sizes), truth.T, strict=True):
        if of_head.min() < 0 or of_head.max() >= head.shape[1]:
            raise InvalidInput(f"labels lie in 0..{head.shape[1] - 1}; leave unknown ones out")
        top = head - head.max(axis=1, keepdims=True)
        logs = (top - np.log(np.exp(top).sum(axis=1, keepdims=True))) / np.log(2.0)
        entropies -= (np.exp2(logs) * logs).sum(axis=1)
        losses -= logs[np.arange(len(of_head)), of_head]
    excesses = entropies - losses
    interval = mean_interval(excesses, group)
    if interval is None:
        raise InvalidInput("all samples are of one person: nothing is known of others")
    return EntropyExcess(
        entropy=float(entropies.mean()),
        cross_entropy=float(losses.mean()),
        excess=float(excesses.mean()),
        interval=interval,
        samples=len(excesses),
    )
