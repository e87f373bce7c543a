"""How like the original a copy of a model is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import WILSON, share_interval
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.outcomes import Grouped
from leakrange.metrics.registry import metric

__all__ = ["Copied", "LastLayer"]

GAP = 100.0
"""Singular values that differ by less are not taken for those of a layer and of the digits of answers."""


@dataclass(frozen=True)
class Copied(Grouped):
    """The classes that a copy of a model gives to samples that it did not learn from (V,), those that users
    of the model got for them (V,), and their true ones (V,), -1 where unknown. ``group`` is as that of
    `Grouped`."""

    copied: NDArray[np.integer]
    decided: NDArray[np.integer]
    truth: NDArray[np.integer]
    group: NDArray[np.integer] | None = None


@dataclass(frozen=True)
class LastLayer:
    """Answers (N, Y) of a model, which are logits or, as the ``release`` says, a softmax."""

    answers: NDArray[np.floating]
    release: str


@metric(
    "fidelity", measures=Copied, title="fidelity", unit="share", role="leakage", rank=33,
    chance="fidelity_majority", interval=WILSON, claim="copies {value} of {hidden}",
    equation="share of samples to which the copy gives the class that users got",
)  # fmt: skip
def _fidelity(copied: Copied) -> Estimate:
    return _share(copied.copied == copied.decided, copied.group)


@metric(
    "fidelity_majority", measures=Copied, title="fidelity of one class", unit="share", role="context",
    rank=34, equation="share of samples to which users got the commonest class",
)  # fmt: skip
def _majority(copied: Copied) -> float:
    return float(np.unique(copied.decided, return_counts=True)[1].max() / len(copied.decided))


@metric(
    "copy_accuracy", measures=Copied, title="accuracy of the copy", unit="share", role="context", rank=35,
    interval=WILSON, equation="share of samples to which the copy gives their true class",
)  # fmt: skip
def _accuracy(copied: Copied) -> Estimate | None:
    known = copied.truth >= 0
    if not known.any():
        return None
    group = None if copied.group is None else copied.group[known]
    return _share(copied.copied[known] == copied.truth[known], group)


@metric(
    "last_width", measures=LastLayer, title="values before the last layer", unit="count", role="context",
    rank=36, equation="rank of the logits, less their means (Carlini et al. 2024, Section 4.1)",
)  # fmt: skip
def _last_width(layer: LastLayer) -> float | None:
    """How many values the last linear layer gets: the number of singular values before the largest gap. None
    where it gets as many as there are classes but one, or more, and where answers do not show it."""
    logits = np.asarray(layer.answers, np.float64)
    if len(logits) < 2 * logits.shape[1] or (layer.release == "softmax" and logits.min() <= 0.0):
        return None
    if layer.release == "softmax":
        logits = np.log(logits)
    logits = logits - logits.mean(axis=0)
    if not logits.any(axis=0).all():  # a class of which answers never change says nothing of a layer
        return None
    values = np.linalg.svd(logits - logits.mean(axis=1, keepdims=True), compute_uv=False)[:-1]
    gaps = values[:-1] / np.maximum(values[1:], np.finfo(np.float32).eps * values[0])
    return float(gaps.argmax() + 1) if len(gaps) and gaps.max() >= GAP else None


def _share(right: NDArray[np.bool_], group: NDArray[np.integer] | None) -> Estimate:
    return Estimate.within(float(right.mean()), share_interval(right, group))
