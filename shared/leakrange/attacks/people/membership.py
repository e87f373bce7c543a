"""What a membership attack on people is given, and what it gives."""

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
    """``known``: of how many members, and as many others, the attacker knows that they are such. ``pairs`` of
    each person it asks a verification about, at most. ``repeats``: how often an averaging attacker repeats a
    query.

    With ``folds`` everybody is asked after, as in the paper: the people are cut into so many folds, and of
    each fold's people it knows nothing but knows all others. ``known`` says nothing then. ``revealed``: of a
    recognition so many of the highest confidences are read, whosever they are (Section 7.1).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    known: Annotated[int, Field(ge=5, le=100_000)] = 40
    folds: Annotated[int, Field(ge=2, le=100)] | None = None
    pairs: Annotated[int, Field(ge=6, le=100_000)] = 40
    revealed: Annotated[int, Field(ge=1, le=10_000)] | None = None
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@dataclass(frozen=True)
class PeopleEvidence:
    """All that a membership attack on P people gets.

    releases: of N images (N, k), or distances of N pairs (N, 1); person (N,), whose they are, 0 .. P − 1: the
    attacker is granted the class labels. lessons: what it learns from instead, of the same shape: answers
    without the defence, for one who knows of none; else the same array. membership: (P,), 1 of known members,
    0 of known others, −1 of those it is after. release: "features", "score" (distances) or "softmax" (of a
    recognition).
    """

    releases: NDArray[np.float32]
    lessons: NDArray[np.float32]
    person: NDArray[np.int64]
    membership: NDArray[np.int64]
    release: str
    seed: int = 0

    @property
    def known(self) -> NDArray[np.bool_]:
        """Of which people the attacker knows the membership, (P,)."""
        return np.asarray(self.membership >= 0)

    @property
    def member(self) -> NDArray[np.bool_]:
        """Which people it knows to be members, (P,)."""
        return np.asarray(self.membership == 1)


class PeopleAttack(Attack):
    """An attack that tells the people whose pictures a teacher was trained on from others, by the answers of
    a student service before it.

    ``fewest`` says how many images (pairs, of a verification) of each person it wants at least.
    """

    kind: ClassVar[str] = "people"
    consumes: ClassVar[tuple[str, ...]] = ("features", "score", "softmax")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    Parameters: ClassVar[type[PeopleParameters]] = PeopleParameters

    @classmethod
    @abstractmethod
    def fewest(cls, release: str) -> int:
        """Images, or pairs, of each person."""

    @abstractmethod
    def score(self, evidence: PeopleEvidence) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places in the evidence (T,), all of people whose membership is not known, and a finite score of
        each (T,), higher meaning member. Raises `InvalidInput` for evidence that cannot be used."""


def check_people(evidence: PeopleEvidence) -> None:
    """Raise `InvalidInput` where the evidence's arrays do not fit together, or nothing can be learnt."""
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
