"""How near recovered embeddings are to those that were hidden, and whom they give away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import WILSON, mean_interval, share_interval
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.registry import metric

__all__ = ["RecoveredTemplates", "rank_of_own"]


def rank_of_own(similarity: NDArray[np.floating], own: NDArray[np.integer]) -> NDArray[np.float64]:
    """How many of the people in a gallery are more similar to each template than its ``own`` (N,) is, given
    the ``similarity`` (N, G) to all of them: (N,), 0 where its own person comes first. Of others who are
    equally similar a half counts, so that equal similarities name nobody."""
    right = np.take_along_axis(similarity, own[:, np.newaxis], axis=1)
    before = (similarity > right).sum(axis=1) + ((similarity == right).sum(axis=1) - 1) / 2.0
    return np.asarray(before, dtype=np.float64)


@dataclass(frozen=True)
class RecoveredTemplates:
    """Embeddings that an attack recovered, one of each of N people.

    cosine: (N,), of the angle between each and the hidden one. unasked: (N,), the same for the mean of the
    attacker's own embeddings, which asks nothing. rank, hidden_rank: (N,), that of the right person among
    ``gallery`` people (see `rank_of_own`), by the recovered embedding and by the hidden one itself.
    """

    cosine: NDArray[np.floating]
    unasked: NDArray[np.floating]
    rank: NDArray[np.floating]
    hidden_rank: NDArray[np.floating]
    gallery: int


@metric(
    "identified", measures=RecoveredTemplates, title="share named right", unit="share", role="leakage",
    rank=44, chance="identified_by_chance", interval=WILSON,
    equation="share of recovered embeddings that the right person’s photographs are most similar to",
    claim="names the {hidden} right {value} of the time",
)  # fmt: skip
def _identified(recovered: RecoveredTemplates) -> Estimate:
    return _first(recovered.rank)


@metric(
    "identified_by_chance", measures=RecoveredTemplates, title="share named by chance", unit="share",
    role="context", rank=45, equation="one over the number of people in the gallery",
)  # fmt: skip
def _chance(recovered: RecoveredTemplates) -> float:
    return 1.0 / recovered.gallery


@metric(
    "identified_by_picture", measures=RecoveredTemplates, title="share named by the picture itself",
    unit="share", role="context", rank=46, interval=WILSON,
    equation="as the share named right, by the embedding that the attacker’s net gives the hidden picture",
)  # fmt: skip
def _by_picture(recovered: RecoveredTemplates) -> Estimate:
    return _first(recovered.hidden_rank)


@metric(
    "template_cosine", measures=RecoveredTemplates, title="cosine to the hidden embedding", unit="score",
    role="leakage", rank=47, lowest=-1.0, chance="template_cosine_unasked", interval="over people (Student)",
    equation="mean cosine of the angle between the recovered and the hidden embedding",
)  # fmt: skip
def _cosine(recovered: RecoveredTemplates) -> Estimate:
    value, interval = float(np.mean(recovered.cosine)), mean_interval(recovered.cosine)
    return Estimate(value=value) if interval is None else Estimate.within(value, interval)


@metric(
    "template_cosine_unasked", measures=RecoveredTemplates, title="cosine of the references’ mean",
    unit="score", role="context", rank=48,
    equation="mean cosine of the angle between the mean of the references and the hidden embedding",
)  # fmt: skip
def _unasked(recovered: RecoveredTemplates) -> float:
    return float(np.mean(recovered.unasked))


def _first(rank: NDArray[np.floating]) -> Estimate:
    return Estimate.within(float((rank == 0).mean()), share_interval(rank == 0))
