"""BASE: how much likelier a record is under the target than under shadow models, without a population."""

from __future__ import annotations

from collections.abc import Mapping
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
    log_confidence,
)
from leakrange.jobs.versions import VersionChange
from leakrange.wire.errors import InvalidInput

__all__ = ["BayesScore", "log_mean"]


class BayesScoreParameters(ShadowParameters):
    """``mode``: "online" compares with all shadows, "offline" with those without a record only."""

    mode: Literal["online", "offline"] = "offline"


@attacks.register("base")
class BayesScore(MembershipAttack):
    """The score of a record is log p(x|θ) less the logarithm of the shadow models' mean p(x|θ').

    It orders records as RMIA does that compares with all thresholds at once: no γ, no ties, and no answers
    about a population. Scores are computed in logarithms, so that models that are sure of everything to
    their last digits still tell their members.
    """

    name: ClassVar[str] = "base"
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, VersionChange]] = {}
    summary: ClassVar[str] = (
        "how much likelier the target finds each record than shadow models do in the mean"
    )
    paper: ClassVar[str] = "Lassila et al. 2025"
    equation: ClassVar[str] = "BASE (the Bayes-optimal score, averaged over shadow models)"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "the records and their true classes",
        "the target's architecture and training",
        "a pool of records to train shadow models on",
    )
    needs: ClassVar[tuple[str, ...]] = ("shadows", "members")
    Parameters: ClassVar[type[BaseModel]] = BayesScoreParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """log p(x|θ) − log mean p(x|θ'), averaged over a record's queries: (N,)."""
        check(evidence)
        labels, release = evidence.labels, evidence.release
        observed = log_confidence(evidence.observed, labels, release)
        shadows = log_confidence(evidence.shadows, labels, release)
        chosen = np.ones_like(evidence.members) if self.parameters.mode == "online" else ~evidence.members
        return np.asarray((observed - log_mean(shadows, chosen[:, np.newaxis])).mean(axis=0))


def log_mean(logs: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The logarithm (Q, N) of the mean of exp(``logs``) (K, Q, N) over the ``chosen`` (K, 1, N) of K models.

    It is exact both where all values lie near 0 and where all are far below. Raises `InvalidInput` where no
    model is chosen.
    """
    count = chosen.sum(axis=0)
    if (count == 0).any():
        raise InvalidInput(
            f"{int((count == 0).sum())} records have no shadow model to compare with",
            hint="train shadows in pairs that share the pool out between them",
        )
    less_than_one = np.where(chosen, np.expm1(logs), 0.0).sum(axis=0) / count
    small = np.logaddexp.reduce(np.where(chosen, logs, -np.inf), axis=0) - np.log(count)
    return np.asarray(np.where(less_than_one > -0.5, np.log1p(np.maximum(less_than_one, -0.5)), small))
