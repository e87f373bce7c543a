"""Use that a defence makes of each of its substitutes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.registry import metric

__all__ = ["Uses"]


@dataclass(frozen=True)
class Uses:
    """The record that each upload shows (V,), V > 0: any numbers, equal where it is the same record."""

    record: NDArray[np.integer]

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Share of uploads for each record that is shown at all."""
        counts = np.unique(self.record, return_counts=True)[1]
        return np.asarray(counts / counts.sum())


@metric(
    "support", measures=Uses, title="substitutes in use", unit="count", role="context", rank=93,
    equation="different records that users' uploads are nearest to",
)  # fmt: skip
def _support(uses: Uses) -> float:
    return float(len(uses.shares))


@metric(
    "use_entropy", measures=Uses, title="entropy of their use", unit="bits", role="context", rank=94,
    equation="−Σ p log2 p, p the share of uploads that are nearest to a record; log2 of their number, where "
    "all are used alike",
)  # fmt: skip
def _use_entropy(uses: Uses) -> float:
    return float(-(uses.shares * np.log2(uses.shares)).sum() + 0.0)


@metric(
    "most_used", measures=Uses, title="share of the most used", unit="share", role="context", rank=95,
    equation="the largest share of uploads that are nearest to one record",
)  # fmt: skip
def _most_used(uses: Uses) -> float:
    return float(uses.shares.max())
