"""How like the original a copy of a model is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import WILSON, share_interval
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.outcomes import Grouped
from leakrange.metrics.registry import metric

__all__ = ["Copied"]


@dataclass(frozen=True)
class Copied(Grouped):
    """The classes that a copy of a model gives to samples that it did not learn from (V,), those that users
    of the model got for them (V,), and their true ones (V,), -1 where unknown. ``group`` is as that of
    `Grouped`."""

    copied: NDArray[np.integer]
    decided: NDArray[np.integer]
    truth: NDArray[np.integer]
    group: NDArray[np.integer] | None = None


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


def _share(right: NDArray[np.bool_], group: NDArray[np.integer] | None) -> Estimate:
    return Estimate.within(float(right.mean()), share_interval(right, group))
