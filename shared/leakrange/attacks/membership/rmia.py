"""RMIA: compares the target's confidence in a record with reference models, and the record with a
population."""

from __future__ import annotations

import math
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
)
from leakrange.wire.errors import InvalidInput

__all__ = ["Rmia", "log_reference", "rmia"]


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
