"""The plainest membership attack: what a model has trained on, it has less loss on."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks import attacks
from leakrange.attacks.membership.confidence import scaled_logit
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence, check

__all__ = ["LossThreshold"]


class LossThresholdParameters(BaseModel):
    """How often an averaging attacker repeats a query."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@attacks.register("loss-threshold")
class LossThreshold(MembershipAttack):
    """Members are the records of least cross-entropy −log p_y, whichever record it is.

    It knows no shadow: easy records that the target never saw look like members to it.
    """

    name: ClassVar[str] = "loss-threshold"
    summary: ClassVar[str] = "members have less loss: one threshold for all records"
    paper: ClassVar[str] = "Yeom et al. 2018"
    equation: ClassVar[str] = "Adversary 2 (threshold)"
    grants: ClassVar[tuple[str, ...]] = ("queries", "the records and their true classes")
    Parameters: ClassVar[type[BaseModel]] = LossThresholdParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """φ of the record, averaged over its queries: for a single one the order is that of −loss, and no
        two losses near 0 run together."""
        check(evidence)
        return np.asarray(scaled_logit(evidence.observed, evidence.labels, evidence.release).mean(axis=0))
