"""LiRA: compares the target's confidence in a record with that of shadow models trained with and without
it."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks import attacks
from leakrange.attacks.membership.membership import (
    MembershipAttack,
    MembershipEvidence,
    ShadowParameters,
    check,
    scaled_logit,
)
from leakrange.wire.errors import InvalidInput

__all__ = ["Lira", "lira_offline", "lira_online"]

ENOUGH = 64
"""The number of shadows from which on each record's own variance is trusted; the paper pools it below,
too."""
LEAST = 1e-6
"""A deviation below this is none: scores stay finite where shadows agree to the last digit."""

Variance = Literal["auto", "record", "pooled"]


class LiraParameters(ShadowParameters):
    """``mode``: "online" uses shadows trained with and without a record, "offline" only those without.
    ``variance`` of φ among shadows: one for each record ("record"), one for all records ("pooled"), or
    "auto", which is pooled below 64 shadows."""

    mode: Literal["online", "offline"] = "offline"
    variance: Variance = "auto"


@attacks.register("lira")
class Lira(MembershipAttack):
    """Fits normal distributions of φ to the shadow models, record by record. The score is the likelihood
    ratio of in and out (online), or how far the target is above out (offline)."""

    name: ClassVar[str] = "lira"
    summary: ClassVar[str] = (
        "likelihood ratio of each record's confidence under shadow models with and without it"
    )
    paper: ClassVar[str] = "Carlini et al. 2022"
    equation: ClassVar[str] = "Algorithm 1 (online and offline)"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "the records and their true classes",
        "the target's architecture and training",
        "a pool of records to train shadow models on",
    )
    Parameters: ClassVar[type[BaseModel]] = LiraParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """The log-likelihood ratio (online) or the distance from the out models in deviations (offline)."""
        check(evidence)
        observed = scaled_logit(evidence.observed, evidence.labels, evidence.release)
        shadows = scaled_logit(evidence.shadows, evidence.labels, evidence.release)
        score = lira_online if self.parameters.mode == "online" else lira_offline
        return score(observed, shadows, evidence.members, self.parameters.variance)


def lira_online(
    observed: NDArray[np.float64],
    shadows: NDArray[np.float64],
    members: NDArray[np.bool_],
    variance: Variance = "auto",
) -> NDArray[np.float64]:
    """log p(φ | N(μ_in, σ²_in)) − log p(φ | N(μ_out, σ²_out)), summed over the queries: (N,).

    observed: φ of the target (Q, N); shadows: (K, Q, N); members: (K, N). Queries are treated as independent,
    as in the authors' code. Raises `InvalidInput` where no shadow, or every shadow, was trained on a record.
    """
    (mean_in, deviation_in), (mean_out, deviation_out) = (
        _normal(shadows, chosen, variance) for chosen in (members, ~members)
    )
    ratio = _log_density(observed, mean_in, deviation_in) - _log_density(observed, mean_out, deviation_out)
    return np.asarray(ratio.sum(axis=0))


def lira_offline(
    observed: NDArray[np.float64],
    shadows: NDArray[np.float64],
    members: NDArray[np.bool_],
    variance: Variance = "auto",
) -> NDArray[np.float64]:
    """(φ − μ_out) / σ_out, averaged over the queries: (N,). Arguments as for `lira_online`.

    For a single query it ranks records as Λ = 1 − Pr[Z > φ], Z ~ N(μ_out, σ²_out), does, but without
    saturating at 1. Raises `InvalidInput` where every shadow was trained on a record.
    """
    mean, deviation = _normal(shadows, ~members, variance)
    return np.asarray(((observed - mean) / deviation).mean(axis=0))


def _normal(
    shadows: NDArray[np.float64], chosen: NDArray[np.bool_], variance: Variance
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation (Q, N) of φ over each record's ``chosen`` shadows.

    The pooled deviation is the root of the mean squared distance from each record's mean, with one degree of
    freedom less for every mean. With a single shadow per record it is the deviation of all φ, which does not
    change the ranking of the offline attack.
    """
    weight = chosen[:, np.newaxis, :].astype(np.float64)
    count = weight.sum(axis=0)
    if (count == 0).any():
        raise InvalidInput(
            f"{int((count == 0).sum())} records are on the same side of every shadow model",
            hint="train shadows in pairs that share the pool out between them",
        )
    mean = (shadows * weight).sum(axis=0) / count
    squares = ((shadows - mean) ** 2 * weight).sum(axis=0)
    if variance == "record" or (variance == "auto" and len(shadows) >= ENOUGH):
        if count.min() < 2:
            raise InvalidInput("a record's own variance needs two shadow models or more on either side")
        return mean, np.maximum(np.sqrt(squares / (count - 1)), LEAST)
    freedom = (count - 1).sum(axis=1, keepdims=True)
    within = np.sqrt(squares.sum(axis=1, keepdims=True) / np.maximum(freedom, 1))
    overall = shadows.std(axis=(0, 2))[:, np.newaxis]
    return mean, np.broadcast_to(np.maximum(np.where(freedom > 0, within, overall), LEAST), mean.shape)


def _log_density(
    x: NDArray[np.float64], mean: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The logarithm of a normal density."""
    distance = (x - mean) / deviation
    return np.asarray(-0.5 * distance**2 - np.log(deviation) - 0.5 * np.log(2 * np.pi))
