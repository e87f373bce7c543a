"""The input and output of membership attacks on records."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["MembershipAttack", "MembershipEvidence", "ShadowParameters", "check"]


class ShadowParameters(Strict):
    """The number of shadow models that the attacker trains, and how often an averaging attacker repeats a
    query.

    Shadows come in pairs that split the pool: each record is a member of exactly one of the two. So half of
    ``shadows`` were trained on a given record.
    """

    shadows: Annotated[int, Field(ge=2, le=512, multiple_of=2)] = 16
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@dataclass(frozen=True)
class MembershipEvidence:
    """The input of a membership attack on N records.

    observed: the target's releases (Q, N, Y) for Q queries of each record (unchanged, mirrored, ...). labels:
    their true classes (N,). shadows: the releases of the attacker's K own models for the same queries (K, Q,
    N, Y). members: (K, N), which records each shadow was trained on. population: the target's releases (Z, Y)
    for Z records that no model was trained on, with population_labels (Z,) and population_shadows (K, Z, Y).
    release: "logits" or "softmax".
    """

    observed: NDArray[np.floating]
    labels: NDArray[np.integer]
    shadows: NDArray[np.floating]
    members: NDArray[np.bool_]
    population: NDArray[np.floating]
    population_labels: NDArray[np.integer]
    population_shadows: NDArray[np.floating]
    release: str


class MembershipAttack(Attack):
    """An attack that gives each record a score. A higher score means that the target was more likely trained
    on it."""

    kind: ClassVar[str] = "membership"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")

    @abstractmethod
    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """One finite score per record, (N,). Raises `InvalidInput` for evidence that cannot be used."""


def check(evidence: MembershipEvidence) -> None:
    """Raise `InvalidInput` where the evidence's arrays do not fit together."""
    observed, shadows, members = evidence.observed, evidence.shadows, evidence.members
    if observed.ndim != 3 or observed.shape[1] != len(evidence.labels):
        raise InvalidInput(f"observed releases {observed.shape} of {len(evidence.labels)} labelled records")
    if shadows.shape != (len(members), *observed.shape) or members.shape[1:] != evidence.labels.shape:
        raise InvalidInput(
            f"shadows' releases {shadows.shape} and memberships {members.shape} for observed {observed.shape}"
        )
    if evidence.population_shadows.shape != (len(members), *evidence.population.shape):
        raise InvalidInput(
            f"shadows' releases {evidence.population_shadows.shape} of a population with "
            f"{evidence.population.shape}"
        )
