"""The input and output of membership attacks on people."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.wire.errors import InvalidInput

__all__ = ["PeopleAttack", "PeopleEvidence", "PeopleParameters", "check_people"]


class PeopleParameters(BaseModel):
    """``known``: the number of members, and the equal number of others, whose membership the attacker knows.
    ``pairs``: the largest number of pairs of each person to query at a verification. ``repeats``: how often
    an averaging attacker repeats a query.

    With ``folds`` everybody's membership is inferred, as in the paper: the people are split into folds, and
    for each fold the attacker knows the membership of everybody else. ``known`` is ignored then.
    ``revealed``: only so many of a recognition's highest confidences are read, without their classes (Section
    7.1).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    known: Annotated[int, Field(ge=5, le=100_000)] = 40
    folds: Annotated[int, Field(ge=2, le=100)] | None = None
    pairs: Annotated[int, Field(ge=6, le=100_000)] = 40
    revealed: Annotated[int, Field(ge=1, le=10_000)] | None = None
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@dataclass(frozen=True)
class PeopleEvidence:
    """The input of a membership attack on P people.

    releases: of N images (N, k), or distances of N pairs (N, 1). person (N,): the person of each, 0 .. P − 1,
    which the attacker knows. lessons: answers to learn from, of the same shape: undefended ones for an
    attacker who does not know the defence, else the same array. membership: (P,), 1 for known members, 0 for
    known others, −1 for people whose membership is to be inferred. release: "features", "score" (distances)
    or "softmax" (of a recognition).
    """

    releases: NDArray[np.float32]
    lessons: NDArray[np.float32]
    person: NDArray[np.int64]
    membership: NDArray[np.int64]
    release: str
    seed: int = 0

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether the attacker knows the membership of each person, (P,)."""
        return np.asarray(self.membership >= 0)

    @property
    def member(self) -> NDArray[np.bool_]:
        """Whether the attacker knows each person to be a member, (P,)."""
        return np.asarray(self.membership == 1)


class PeopleAttack(Attack):
    """An attack that infers whether a teacher was trained on a person's pictures, from the answers of a
    student service.

    ``fewest`` is the least number of images (pairs, for a verification) of each person that it needs.
    """

    kind: ClassVar[str] = "people"
    consumes: ClassVar[tuple[str, ...]] = ("features", "score", "softmax")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    Parameters: ClassVar[type[PeopleParameters]] = PeopleParameters

    @classmethod
    @abstractmethod
    def fewest(cls, release: str) -> int:
        """The least number of images, or pairs, of each person."""

    @abstractmethod
    def score(self, evidence: PeopleEvidence) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places in the evidence (T,), all of people whose membership is not known, and their finite scores
        (T,), higher meaning member. Raises `InvalidInput` for evidence that cannot be used."""


def check_people(evidence: PeopleEvidence) -> None:
    """Raises `InvalidInput` where the evidence's arrays do not fit together, or are not enough to learn
    from."""
    releases, lessons, person = evidence.releases, evidence.lessons, evidence.person
    if releases.ndim != 2 or lessons.shape != releases.shape or person.shape != releases.shape[:1]:
        raise InvalidInput(
            f"releases {releases.shape}, lessons {lessons.shape} and persons {person.shape} do not match"
        )
    if not (np.isfinite(releases).all() and np.isfinite(lessons).all()):
        raise InvalidInput("a release holds values that are not finite")
    if len(person) and person.max() >= len(evidence.membership):
        raise InvalidInput("a release is of a person who is not among those asked after")
    if min((evidence.membership == kind).sum() for kind in (-1, 0, 1)) < 2:
        raise InvalidInput(
            "known members, known others and people to ask after are needed, two of each at least",
            hint="let the attack know fewer people, or the crowd have more",
        )
