"""Membership attacks on people: their input and output, and how they read a recognition's confidences."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.people.classes import even_folds
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = [
    "PeopleAttack",
    "PeopleEvidence",
    "PeopleParameters",
    "Releases",
    "Scored",
    "ShadowVectors",
    "in_folds",
    "revealed_scores",
]

SMALLEST = 1e-6
"""Lower confidences are raised to this one before the logarithm."""

Floats = NDArray[np.floating]


def revealed_scores(releases: Floats, k: int) -> NDArray[np.float64]:
    """The k highest scores (n, k) of each of releases (n, C), highest first, without their classes.

    Releases may be bare, or those of a ``top-k`` defence (``renormalise``, ``zero``). A class's covariance is
    then (k, k). With k = 1 and ``renormalise`` every release is 1, which reveals nothing. Raises
    `InvalidInput` unless 1 ≤ k ≤ C.
    """
    if releases.ndim != 2 or not 1 <= k <= releases.shape[1]:
        raise InvalidInput(f"releases {releases.shape} have no {k} highest scores")
    highest: NDArray[np.float64] = -np.sort(-np.asarray(releases, dtype=np.float64), axis=1)[:, :k]
    return highest


def log_confidences(releases: NDArray[np.floating]) -> NDArray[np.float64]:
    """The logarithms of a recognition's confidences (N, C).

    Confidences are mostly near 0 and 1, where they hardly distinguish images; their logarithms do.
    """
    logarithms: NDArray[np.float64] = np.log(np.maximum(releases, SMALLEST).astype(np.float64))
    return logarithms


FEWEST_KNOWN = 5

Releases = NDArray[np.float32] | NDArray[np.float64]


class PeopleParameters(Strict):
    """``known``: the number of members, and the equal number of others, whose membership the attacker knows;
    40 unless given. ``pairs``: the largest number of pairs of each person to query at a verification.
    ``repeats``: how often an averaging attacker repeats a query.

    With ``folds`` everybody's membership is inferred, as in the paper: the people are split into folds, and
    for each fold the attacker knows the membership of everybody else. ``known`` people are left out then, so
    that attacks with folds and without can be judged on the same people; nobody unless given.

    ``logarithm``: reads the logarithms of a recognition's confidences, which the paper's attacker does not.
    ``revealed``: only so many of the highest confidences are read, without their classes (Section 7.1).
    """

    known: Annotated[int, Field(ge=0, le=100_000)] = 40
    folds: Annotated[int, Field(ge=2, le=100)] | None = None
    pairs: Annotated[int, Field(ge=1, le=100_000)] = 40
    logarithm: bool = False
    revealed: Annotated[int, Field(ge=1, le=10_000)] | None = None
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8

    @model_validator(mode="before")
    @classmethod
    def _everybody(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("folds") is not None:
            return {"known": 0, **given}
        return given

    @property
    def needs_known(self) -> bool:
        """Whether the attack learns from people whose membership is known."""
        return True

    @model_validator(mode="after")
    def _learns(self) -> Self:
        if self.needs_known and self.folds is None and self.known < FEWEST_KNOWN:
            raise ValueError(f"'known' must be at least {FEWEST_KNOWN} where there are no 'folds'")
        return self


@dataclass(frozen=True)
class ShadowVectors:
    """Features by the attacker's own net: of the ``public`` (M, d), on whom it was trained, and of the first
    pictures of the ``pool`` (N, d), with the person of each, 0 and so on, (M,) and (N,)."""

    public: Releases
    public_person: NDArray[np.int64]
    pool: Releases
    pool_person: NDArray[np.int64]


@dataclass(frozen=True)
class PeopleEvidence:
    """The input of a membership attack on P people.

    releases: of N images (N, k), or distances of N pairs (N, 1). person (N,): the person of each, 0 .. P − 1,
    which the attacker knows. lessons: answers to learn from, of the same shape: undefended ones for an
    attacker who does not know the defence, else the same array. membership: (P,), 1 for known members, 0 for
    known others, −1 for people whose membership is to be inferred. release: "features", "score" (distances)
    or "softmax" (of a recognition). across: distances (P, R) of each person to others, where they were asked
    for, and ``across_lessons`` to learn from. shadow: what the attacker's own net tells, if it has one.
    """

    releases: Releases
    lessons: Releases
    person: NDArray[np.int64]
    membership: NDArray[np.int64]
    release: str
    seed: int = 0
    across: Releases | None = None
    across_lessons: Releases | None = None
    shadow: ShadowVectors | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether the attacker knows the membership of each person, (P,)."""
        return np.asarray(self.membership >= 0)

    @property
    def member(self) -> NDArray[np.bool_]:
        """Whether the attacker knows each person to be a member, (P,)."""
        return np.asarray(self.membership == 1)


class Scored(NamedTuple):
    """Places in the evidence (T,), their finite scores (T,), higher meaning member, and which of several
    statistics the scores are."""

    places: NDArray[np.int64]
    scores: NDArray[np.float64]
    chosen: str = ""


class PeopleAttack(Attack):
    """An attack that infers whether a teacher was trained on a person's pictures, from the answers of a
    student service."""

    kind: ClassVar[str] = "people"
    consumes: ClassVar[tuple[str, ...]] = ("features", "score", "softmax")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    Parameters: ClassVar[type[PeopleParameters]] = PeopleParameters
    arrays: ClassVar[type[Any] | None] = PeopleEvidence

    @classmethod
    def arrays_filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With the releases to learn from as well, where no others are given."""
        return {"lessons": given["releases"], **given} if "releases" in given else given

    def on_arrays(self, evidence: Any) -> Any:
        """See `score`."""
        return self.score(evidence)

    @classmethod
    @abstractmethod
    def fewest(cls, parameters: Any, release: str) -> int:
        """The least number of images (pairs, at a verification) of each person that it needs."""

    @classmethod
    def refuses(cls, parameters: Any, release: str) -> str | None:
        """The reason why it cannot read that release with these parameters; None where it can."""
        for name in ("logarithm", "revealed"):
            if getattr(parameters, name) and release != "softmax":
                return f"{name!r} applies to a recognition's confidences only"
        return None

    @property
    def by_record(self) -> bool:
        """Whether folds hold single answers instead of whole people."""
        return False

    @abstractmethod
    def decides(self, release: str) -> bool:
        """Whether a score above 0 says that a person is a member."""

    def score(self, evidence: PeopleEvidence) -> Scored:
        """The scores of all whose membership is not known. Raises `InvalidInput` for evidence that cannot be
        used."""
        check_people(evidence, known=self.parameters.needs_known)
        releases = self._read(evidence, evidence.releases)
        same = evidence.lessons is evidence.releases
        lessons = releases if same else self._read(evidence, evidence.lessons)
        return self.scored(replace(evidence, releases=releases, lessons=lessons))

    @abstractmethod
    def scored(self, evidence: PeopleEvidence) -> Scored:
        """See `score`: for evidence that has been checked."""

    def _read(self, evidence: PeopleEvidence, releases: Releases) -> Releases:
        """The part of a recognition's confidences that the attacker reads."""
        if evidence.release != "softmax":
            return releases
        count = self.parameters.revealed
        if count is not None:
            releases = revealed_scores(releases, min(count, releases.shape[1])).astype(np.float32)
        return log_confidences(releases) if self.parameters.logarithm else releases


def check_people(evidence: PeopleEvidence, *, known: bool = True) -> None:
    """Raise `InvalidInput` where the evidence's arrays do not fit together, or are not enough to learn from,
    which takes people whose membership is ``known``."""
    releases, lessons, person = evidence.releases, evidence.lessons, evidence.person
    if releases.ndim != 2 or lessons.shape != releases.shape or person.shape != releases.shape[:1]:
        raise InvalidInput(
            f"releases {releases.shape}, lessons {lessons.shape} and persons {person.shape} do not match"
        )
    if not (np.isfinite(releases).all() and np.isfinite(lessons).all()):
        raise InvalidInput("a release holds values that are not finite")
    if len(person) and person.max() >= len(evidence.membership):
        raise InvalidInput("a release belongs to a person outside the crowd")
    if min((evidence.membership == kind).sum() for kind in ((-1, 0, 1) if known else (-1,))) < 2:
        raise InvalidInput(
            "the attack needs two known members, two known others and two people to infer, at least",
            hint="lower 'known', or raise the 'people' of the crowd",
        )


def in_folds(
    attack: PeopleAttack, evidence: PeopleEvidence, member: NDArray[np.bool_]
) -> tuple[Scored, NDArray[np.int64]]:
    """The scores of all people (P,) whom the evidence says nothing about, or of their single records, and the
    fold of each; ``member`` (P,) are those that the teacher was trained on. Each fold is scored by an
    attacker who knows the membership of all other folds.

    Scores that do not decide are on different scales in different folds, so each fold's are replaced by
    their ranks, from 0 to 1.
    """
    people = np.flatnonzero(~evidence.known)
    people = people[np.argsort(~member[people], kind="stable")]  # the folds do not depend on the pool's order
    number = np.full(len(member), -1)
    number[people] = np.arange(len(people))
    rows = np.argsort(number[evidence.person], kind="stable")
    rows = rows[number[evidence.person[rows]] >= 0]
    person, truth = number[evidence.person[rows]], member[people]
    if attack.by_record:
        person, truth = np.arange(len(rows)), truth[person]
    fold = even_folds(truth, attack.parameters.folds, evidence.seed)
    releases = evidence.releases[rows]
    lessons = releases if evidence.lessons is evidence.releases else evidence.lessons[rows]
    across, lessons_across = (
        None if each is None else each[people] for each in (evidence.across, evidence.across_lessons)
    )
    given = replace(
        evidence,
        releases=releases,
        lessons=lessons,
        person=person,
        across=across,
        across_lessons=lessons_across,
    )
    scored = [
        attack.score(replace(given, membership=np.where(fold == each, -1, truth.astype(int))))
        for each in range(attack.parameters.folds)
    ]
    decided = attack.decides(evidence.release)
    scores = [each.scores if decided else _ranks(each.scores) for each in scored]
    places = rows[np.concatenate([each.places for each in scored])]
    chosen = ", ".join(dict.fromkeys(each.chosen for each in scored if each.chosen))
    numbers = np.repeat(np.arange(len(scored)), [len(each.scores) for each in scored])
    return Scored(places, np.concatenate(scores), chosen), numbers


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0 to 1, the same for equal scores."""
    from scipy.stats import rankdata  # here, since it takes a second, and the controller has no use for it

    ranks: NDArray[np.float64] = (rankdata(scores) - 0.5) / len(scores)
    return ranks
