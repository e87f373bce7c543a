"""How the adversaries fare that devices learned against."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics.accuracy import nag
from leakrange.metrics.registry import metric

__all__ = ["LocalAdversaries"]


@dataclass(frozen=True)
class LocalAdversaries:
    """The mean ``accuracy`` on test samples of the adversaries of devices, each as it was when its device
    last took part in a round, and the share of the commonest class, ``majority``."""

    accuracy: float
    majority: float


@metric(
    "local_curiosity", measures=LocalAdversaries, title="curiosity of devices' own adversaries", unit="share",
    role="context", rank=21, chance="majority",
    equation="accuracy of the networks that devices train the extractor against (TAPPFL, evaluation metrics)",
)  # fmt: skip
def _accuracy(found: LocalAdversaries) -> float:
    return found.accuracy


@metric(
    "local_nag", measures=LocalAdversaries, title="NAG of devices' own adversaries", unit="score",
    role="context", rank=41, equation="as the normalised accuracy gain, of the devices' own adversaries",
)  # fmt: skip
def _nag(found: LocalAdversaries) -> float | None:
    return nag(found.accuracy, found.majority)
