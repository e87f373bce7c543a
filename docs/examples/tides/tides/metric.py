"""How well samples were restored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import metric


@dataclass(frozen=True)
class Restored:
    """What an attack took users' samples for (V, ...), and what they were (V, ...)."""

    restored: NDArray[np.float32]
    truth: NDArray[np.float32]


@metric(
    "unexplained", measures=Restored, title="unexplained variance", unit="share", role="leakage",
    higher=False, chance=1.0, rank=25, claim="restores the {hidden} but for {value} of its variance",
    equation="Σ (x̂ − x)² / Σ (x − mean)²",
)  # fmt: skip
def unexplained(outcome: Restored) -> float:
    """0 where every sample is restored, 1 where all are taken for their mean."""
    truth = outcome.truth.astype(np.float64)
    return float(((outcome.restored - truth) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum())
