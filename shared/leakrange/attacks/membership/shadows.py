"""Membership attacks that compare the target's confidence in a record with that of shadow models: LiRA, with
models trained with and without it; RMIA, with reference models, and the record with a population."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.membership.membership import (
    MembershipAttack,
    MembershipEvidence,
    ShadowParameters,
    check,
    log_confidence,
    scaled_logit,
)
from leakrange.jobs.samples import MOST_VARIANTS
from leakrange.jobs.versions import VersionChange
from leakrange.wire.errors import InvalidInput

__all__ = ["LabelVotes", "Lira", "Rmia", "lira_offline", "lira_online", "log_reference", "normal_of", "rmia"]

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


class LabelVotesParameters(LiraParameters):
    """As LiRA's, with more queries of each record."""

    queries: Annotated[int, Field(ge=2, le=MOST_VARIANTS + 1)] = 16


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
    needs: ClassVar[tuple[str, ...]] = ("shadows", "members")
    Parameters: ClassVar[type[BaseModel]] = LiraParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """The log-likelihood ratio (online) or the distance from the out models in deviations (offline)."""
        check(evidence)
        observed = self._confidence(evidence.observed, evidence)
        shadows = self._confidence(evidence.shadows, evidence)
        score = lira_online if self.parameters.mode == "online" else lira_offline
        return score(observed, shadows, evidence.members, self.parameters.variance)

    def _confidence(
        self, releases: NDArray[np.floating], evidence: MembershipEvidence
    ) -> NDArray[np.float64]:
        """φ (..., Q, N) of releases (..., Q, N, Y)."""
        return scaled_logit(releases, evidence.labels, evidence.release)


@attacks.register("label-votes")
class LabelVotes(Lira):
    """LiRA on labels alone: φ is log((v + ½) / (Q − v + ½)), where the model gives v of the record's Q
    variants its true class. It reads nothing of an answer but the class with the largest value."""

    name: ClassVar[str] = "label-votes"
    labels_suffice: ClassVar[bool] = True
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, VersionChange]] = {}
    summary: ClassVar[str] = "how many variants of a record get its class, against shadow models"
    paper: ClassVar[str] = "after Choquette-Choo et al. 2021"
    equation: ClassVar[str] = "Section 4.1 (data augmentation), judged as LiRA's Algorithm 1"
    Parameters: ClassVar[type[BaseModel]] = LabelVotesParameters

    def _confidence(
        self, releases: NDArray[np.floating], evidence: MembershipEvidence
    ) -> NDArray[np.float64]:
        """φ of one query (..., 1, N), of releases (..., Q, N, Y)."""
        right = releases.argmax(axis=-1) == evidence.labels
        votes = right.sum(axis=-2, keepdims=True)
        return np.asarray(np.log((votes + 0.5) / (right.shape[-2] - votes + 0.5)))


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
        normal_of(shadows, chosen, variance) for chosen in (members, ~members)
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
    mean, deviation = normal_of(shadows, ~members, variance)
    return np.asarray(((observed - mean) / deviation).mean(axis=0))


def normal_of(
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


class RmiaParameters(ShadowParameters):
    """``population``: the largest number of records z to compare with; the target is queried about these,
    too. ``gamma``: the likelihood ratio from which a record beats z. ``mode``: "online" uses shadows trained
    with and without a record, "offline" only those without. Offline, ``a`` in [0, 1] estimates the confidence
    of models trained with the record: p_in = a·p_out + (1 − a)."""

    mode: Literal["online", "offline"] = "offline"
    population: Annotated[int, Field(ge=20, le=100_000)] = 1000
    gamma: Annotated[float, Field(ge=1.0, le=1000.0)] = 2.0
    a: Annotated[float, Field(ge=0.0, le=1.0)] = 0.3


@attacks.register("rmia")
class Rmia(MembershipAttack):
    """The score of a record x is the share of population records z that it beats in the likelihood ratio."""

    name: ClassVar[str] = "rmia"
    summary: ClassVar[str] = "pairwise likelihood ratios against a population, with few reference models"
    paper: ClassVar[str] = "Zarifzadeh et al. 2024"
    equation: ClassVar[str] = "Section 3 (pairwise likelihood ratio), Appendix (offline p(x))"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "the records and their true classes",
        "the target's architecture and training",
        "a pool of records to train reference models on",
        "population records",
    )
    needs: ClassVar[tuple[str, ...]] = (
        "shadows",
        "members",
        "population",
        "population_labels",
        "population_shadows",
    )
    Parameters: ClassVar[type[BaseModel]] = RmiaParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """The share of the population that each record beats, averaged over its queries."""
        check(evidence)
        z_labels, kind = evidence.population_labels, evidence.release
        if len(z_labels) == 0:
            raise InvalidInput("RMIA compares records with a population, and there is none")
        observed = log_confidence(evidence.observed, evidence.labels, kind)
        shadows = log_confidence(evidence.shadows, evidence.labels, kind)
        z = log_confidence(evidence.population, z_labels, kind)
        z_shadows = log_confidence(evidence.population_shadows, z_labels, kind)
        offline, a = self.parameters.mode == "offline", self.parameters.a
        z_reference = log_reference(z_shadows, np.zeros(z_shadows.shape, dtype=bool), a if offline else None)
        scores = [
            rmia(
                target - log_reference(references, evidence.members, a if offline else None),
                z - z_reference,
                self.parameters.gamma,
            )
            for target, references in zip(observed, shadows.swapaxes(0, 1), strict=True)
        ]
        return np.asarray(np.mean(scores, axis=0))


def log_reference(
    shadows: NDArray[np.float64], members: NDArray[np.bool_], a: float | None
) -> NDArray[np.float64]:
    """log p(x), the likelihood of each record over all models (N,), from log p(x|θ) of K reference models (K,
    N).

    Online (``a`` None): the mean of p(x|θ) over models trained with x and over models without, each weighted
    one half. Where only one group exists, its mean. Offline: p_out is the mean over models trained without x,
    and p(x) = ((1 + a)·p_out + (1 − a)) / 2. Raises `InvalidInput` where a record has no such model.
    """
    likelihood = np.exp(shadows)
    out = (~members).sum(axis=0)
    if (out == 0).any():
        raise InvalidInput(f"{int((out == 0).sum())} records were trained on by every reference model")
    p_out = np.where(members, 0.0, likelihood).sum(axis=0) / out
    if a is not None:
        return np.asarray(np.log(np.maximum(((1 + a) * p_out + (1 - a)) / 2, np.finfo(float).tiny)))
    inside = members.sum(axis=0)
    p_in = np.where(members, likelihood, 0.0).sum(axis=0) / np.maximum(inside, 1)
    both = np.where(inside > 0, (p_in + p_out) / 2, p_out)
    return np.asarray(np.log(np.maximum(both, np.finfo(float).tiny)))


def rmia(
    ratio_x: NDArray[np.float64], ratio_z: NDArray[np.float64], gamma: float = 2.0
) -> NDArray[np.float64]:
    """Pr_z[LR(x, z) ≥ γ], LR(x, z) = (p(x|θ)/p(x)) / (p(z|θ)/p(z)): (N,), in [0, 1].

    ``ratio_x`` (N,) and ``ratio_z`` (Z,) are logarithms of p(·|θ)/p(·).
    """
    beaten = np.searchsorted(np.sort(ratio_z), ratio_x - math.log(gamma), side="right")
    return np.asarray(beaten / len(ratio_z))
