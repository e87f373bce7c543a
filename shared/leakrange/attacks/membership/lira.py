"""LiRA: is the target's confidence in a record that of models which saw the record, or of such as did not?"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks import attacks
from leakrange.attacks.membership.confidence import scaled_logit
from leakrange.attacks.membership.membership import (
    MembershipAttack,
    MembershipEvidence,
    ShadowParameters,
    check,
)
from leakrange.wire.errors import InvalidInput

__all__ = ["Lira", "lira_offline", "lira_online"]

ENOUGH = 64
"""Shadows from which on each record's own variance is trusted; the paper pools it below, too."""
LEAST = 1e-6
"""A deviation below this is none: scores stay finite where shadows agree to the last digit."""

Variance = Literal["auto", "record", "pooled"]


class LiraParameters(ShadowParameters):
    """``mode``: "online" uses shadows that were trained on a record and such as were not, "offline" only the
    latter. ``variance``: of φ among shadows, each record's own ("record"), one of all records ("pooled"), or
    pooled below 64 shadows ("auto")."""

    mode: Literal["online", "offline"] = "offline"
    variance: Variance = "auto"


@attacks.register("lira")
class Lira(MembershipAttack):
    """Normal distributions of φ per record, fitted on shadow models: the likelihood ratio of in and out
    (online), or how far above out the target is (offline)."""

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
    """log p(φ | N(μ_in, σ²_in)) − log p(φ | N(μ_out, σ²_out)), added up over the queries: (N,).

    observed: φ of the target (Q, N); shadows: (K, Q, N); members: (K, N). Queries are taken as independent of
    each other, as in the authors' code. Raises `InvalidInput` where a record was seen by no shadow or by all.
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
    """(φ − μ_out) / σ_out, averaged over the queries: (N,). Arguments as those of `lira_online`.

    It orders a single query's records as Λ = 1 − Pr[Z > φ], Z ~ N(μ_out, σ²_out), does, and goes on to
    where Λ is 1 to the last digit. Raises `InvalidInput` where a record was seen by all shadows.
    """
    mean, deviation = _normal(shadows, ~members, variance)
    return np.asarray(((observed - mean) / deviation).mean(axis=0))


def _normal(
    shadows: NDArray[np.float64], chosen: NDArray[np.bool_], variance: Variance
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation (Q, N) of φ over each record's ``chosen`` shadows.

    Pooled is the root of the mean squared distance from each record's own mean, with a degree of freedom less
    for every mean. With a single shadow a record there is none, and the deviation of all φ stands in: the
    same for all records, it changes no order of the offline attack.
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
    """Of a normal distribution."""
    distance = (x - mean) / deviation
    return np.asarray(-0.5 * distance**2 - np.log(deviation) - 0.5 * np.log(2 * np.pi))
