"""How well an attack tells what share of a training set had an attribute, over models of each share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.estimate import Estimate
from leakrange.metrics.registry import metric

__all__ = ["ServedModel", "SharesEstimated", "SharesTold", "records_that_tell"]

SURI = "n_leaked of Suri and Evans 2022"


@dataclass(frozen=True)
class SharesTold:
    """Of which models (J,) an attack told the share right, of the two shares ``low`` and ``high``."""

    right: NDArray[np.bool_]
    low: float
    high: float


@dataclass(frozen=True)
class SharesEstimated:
    """The share that an attack estimates for each model (J,), and the ``true`` one (J,)."""

    estimated: NDArray[np.floating]
    true: NDArray[np.floating]


@dataclass(frozen=True)
class ServedModel:
    """What was told of the model that was asked: whether ``right``; the ``estimated`` share; and the ``rank``
    of its score, the share of models of its own share that it is above. None where that is not known."""

    right: bool | None
    estimated: float | None
    rank: float | None


def records_that_tell(accuracy: float, low: float, high: float) -> float:
    """The number of records of the training distribution from which the best test tells the two shares apart
    with that ``accuracy`` in [0, 1): n = log(4·ω·(1 − ω)) / log max(low/high, (1 − high)/(1 − low)), 0 for
    ω ≤ ½. ``low`` < ``high`` are shares in (0, 1)."""
    if accuracy <= 0.5:
        return 0.0
    return math.log(4 * accuracy * (1 - accuracy)) / math.log(max(low / high, (1 - high) / (1 - low)))


@metric(
    "leaked_records", measures=SharesTold, title="leaked records", unit="number", role="leakage", rank=44,
    chance=0.0, interval="over models (Jeffreys)", claim="tells as much as {value} training records would",
    equation="n of which the best test is right as often: log(4ω(1 − ω)) / log max(α₀/α₁, (1 − α₁)/(1 − α₀)),"
    f" ω = (right + ½) / (models + 1), since n has no bound at 1 ({SURI})",
)  # fmt: skip
def _leaked_records(told: SharesTold) -> Estimate | None:
    from scipy.special import betaincinv  # here, since not all who import this module have SciPy

    if told.low == told.high:
        return None
    right, wrong = told.right.sum() + 0.5, (~told.right).sum() + 0.5
    value, low, high = (
        records_that_tell(float(accuracy), told.low, told.high)
        for accuracy in (right / (right + wrong), *betaincinv(right, wrong, [0.025, 0.975]))
    )
    return Estimate.within(value, (low, high))


@metric(
    "share_error", measures=SharesEstimated, title="error of the share", unit="share", role="context",
    rank=45, equation="root of the mean squared difference between estimated and true share, over models",
)  # fmt: skip
def _share_error(shares: SharesEstimated) -> float:
    return float(np.sqrt(np.mean((shares.estimated - shares.true) ** 2)))


@metric(
    "sampled_records", measures=SharesEstimated, title="records of the estimate", unit="number",
    role="context", rank=46,
    equation=f"records whose own share is as near: mean α(1 − α) / mean squared error ({SURI})",
)  # fmt: skip
def _sampled_records(shares: SharesEstimated) -> float:
    spread = np.mean(shares.true * (1 - shares.true))
    return float(spread / max(np.mean((shares.estimated - shares.true) ** 2), 1e-12))


@metric(
    "served_right", measures=ServedModel, title="served model told right", unit="share", role="context",
    rank=47, equation="1 where the choice about the model that was asked is right, else 0",
)  # fmt: skip
def _served_right(served: ServedModel) -> float | None:
    return None if served.right is None else float(served.right)


@metric(
    "served_share", measures=ServedModel, title="share told of it", unit="share", role="context", rank=48,
    equation="the share that is estimated of the model that was asked",
)  # fmt: skip
def _served_share(served: ServedModel) -> float | None:
    return served.estimated


@metric(
    "served_rank", measures=ServedModel, title="its rank among its like", unit="score", role="context",
    rank=49, equation="models of its own share whose score is lower: ½ on average, where it is like them",
)  # fmt: skip
def _served_rank(served: ServedModel) -> float | None:
    return served.rank
