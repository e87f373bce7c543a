"""The simplest membership attack: a model has less loss on its training records."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.membership.confidence import scaled_logit
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence, check
from leakrange.strict import Strict

__all__ = ["LossThreshold"]


class LossThresholdParameters(Strict):
    """How often an averaging attacker repeats a query."""

    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@attacks.register("loss-threshold")
class LossThreshold(MembershipAttack):
    """Predicts membership from the cross-entropy −log p_y, with one threshold for all records.

    It uses no shadow models, so records that are easy for every model look like members.
    """

    name: ClassVar[str] = "loss-threshold"
    summary: ClassVar[str] = "members have less loss: one threshold for all records"
    paper: ClassVar[str] = "Yeom et al. 2018"
    equation: ClassVar[str] = "Adversary 2 (threshold)"
    grants: ClassVar[tuple[str, ...]] = ("queries", "the records and their true classes")
    Parameters: ClassVar[type[BaseModel]] = LossThresholdParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """φ of each record, averaged over its queries. For a single query it ranks records as −loss does, but
        keeps losses near 0 apart."""
        check(evidence)
        return np.asarray(scaled_logit(evidence.observed, evidence.labels, evidence.release).mean(axis=0))
