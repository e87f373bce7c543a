"""Membership by one label of each record: the question is crafted against shadow models (OSLO)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Knowledge
from leakrange.attacks.membership.membership import FLOOR, MembershipAttack, MembershipEvidence, check
from leakrange.attacks.membership.shadows import normal_of
from leakrange.jobs.versions import VersionChange
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["OneLabel", "advantage", "halves", "margins"]


class OneLabelParameters(Strict):
    """The number of ``shadows`` that the attacker trains, in pairs that split the pool: questions are crafted
    against half of them, and the other half tells what a label means."""

    shadows: Annotated[int, Field(ge=4, le=512, multiple_of=4)] = 16


@attacks.register("oslo")
class OneLabel(MembershipAttack):
    """Asks once about each record, changed so that models that were not trained on it lose its class. The
    score is the likelihood ratio of the label that comes back, under shadow models with and without it.

    The paper calls whoever keeps the class a member. The ratio orders these: a record that models without it
    hardly ever get right is a member more surely than one that all of them know. Of an answer nothing is read
    but the class with the largest value.
    """

    name: ClassVar[str] = "oslo"
    labels_suffice: ClassVar[bool] = True
    crafts: ClassVar[bool] = True
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, VersionChange]] = {}
    summary: ClassVar[str] = "one label of each record, of a question crafted against shadow models"
    paper: ClassVar[str] = "after Peng et al. 2024"
    equation: ClassVar[str] = "Algorithm 1 (transferred adversarial examples), ordered by a likelihood ratio"
    grants: ClassVar[tuple[str, ...]] = (
        "queries of the attacker's choice",
        "the records and their true classes",
        "the target's architecture and training",
        "a pool of records to train shadow models on",
    )
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    needs: ClassVar[tuple[str, ...]] = ("shadows", "members")
    Parameters: ClassVar[type[BaseModel]] = OneLabelParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """log Pr[label | member] − log Pr[label | not], where a label is the true class or another: (N,)."""
        from scipy.special import log_ndtr

        check(evidence)
        if len(evidence.members) < 4:
            raise InvalidInput("one label is judged by four shadow models or more")
        judges = halves(len(evidence.members))[1]
        # what it knows of its own models no defence hides: they are read before any
        known = margins(evidence.shadows[judges, 0], evidence.labels, evidence.release)
        inside, outside = _standardised(known, evidence.members[judges])
        kept = evidence.observed[0].argmax(axis=-1) == evidence.labels
        sign = np.where(kept, 1.0, -1.0)
        return np.asarray(log_ndtr(sign * inside) - log_ndtr(sign * outside))


def halves(shadows: int) -> tuple[slice, slice]:
    """The shadow models that questions are crafted against, and those that judge, whole pairs each."""
    middle = shadows // 4 * 2
    return slice(0, middle), slice(middle, shadows)


def margins(releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str) -> NDArray[np.float64]:
    """By how much the true class leads the others (K, N): a difference of logits, or of log probabilities, of
    releases (K, N, Y) of that ``kind``; above 0 where the label is the true class ``labels`` (N,)."""
    values = np.asarray(releases, np.float64)
    if not np.isfinite(values).all():
        raise InvalidInput("a release holds values that are not finite")
    if kind == "softmax":
        values = np.log(np.maximum(values, values.min(initial=FLOOR, where=values > 0)))
    mine = np.arange(values.shape[-1]) == labels[:, np.newaxis]
    others = np.where(mine, -np.inf, values).max(axis=-1)
    return np.asarray(np.where(mine, values, -np.inf).max(axis=-1) - others)


def advantage(known: NDArray[np.float64], members: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Pr[true class | member] − Pr[true class | not] of each record (N,), from shadow models' margins (K, N)
    and their ``members`` (K, N)."""
    from scipy.special import ndtr

    inside, outside = _standardised(known, members)
    return np.asarray(ndtr(inside) - ndtr(outside))


def _standardised(
    known: NDArray[np.float64], members: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean margins in deviations of models with and without each record (N,): Φ of it is the probability
    of the true class, where margins are normal."""
    sides = (normal_of(known[:, np.newaxis], chosen, "pooled") for chosen in (members, ~members))
    inside, outside = ((mean / deviation)[0] for mean, deviation in sides)
    return inside, outside
