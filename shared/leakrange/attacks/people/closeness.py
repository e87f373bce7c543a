"""The attack `closeness`: whether anything of a person was trained on, by how alike a person's samples are to
one another and to those of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from leakrange.attacks import attacks
from leakrange.attacks.people.class_scores import distance_statistics
from leakrange.attacks.people.classes import grouped
from leakrange.attacks.people.classifiers import choose_setting, fitted_scores
from leakrange.attacks.people.membership import (
    PeopleAttack,
    PeopleEvidence,
    PeopleParameters,
    Releases,
    Scored,
    ShadowVectors,
)
from leakrange.data.crowd import PUBLIC_IMAGES

__all__ = ["Closeness", "closeness", "first_closeness", "vector_closeness"]

Floats = NDArray[np.float64]


def closeness(within: Sequence[NDArray[np.floating]], across: Sequence[NDArray[np.floating]]) -> Floats:
    """What tells how close people are (P, 15), from the distances ``within`` each person's samples and
    ``across`` to those of others, one array or more each: the statistics of both
    (`class_scores.distance_statistics`), the least across, the greatest within, and how much farther the mean
    of others is (after the intra- and inter-features of SLMIA-SR)."""
    rows = []
    for inner, outer in zip(within, across, strict=True):
        intra, inter = distance_statistics(inner), distance_statistics(outer)
        rows.append([*intra, *inter, outer.min(), inner.max(), inter[0] - intra[0]])
    return np.array(rows, dtype=np.float64)


def vector_closeness(vectors: Releases, person: NDArray[np.int64]) -> Floats:
    """The `closeness` (P, 15) of the people 0 .. P − 1, from vectors (N, k), two or more of every ``person``
    (N,): by Euclidean distances within, and across to the mean vectors of all others."""
    from scipy.spatial.distance import cdist, pdist

    rows = grouped(person)[1]
    means = np.stack([vectors[own].mean(axis=0, dtype=np.float64) for own in rows])
    across = [cdist(vectors[own], np.delete(means, number, axis=0)) for number, own in enumerate(rows)]
    return closeness([pdist(vectors[own]) for own in rows], [each.ravel() for each in across])


def first_closeness(vectors: Releases, person: NDArray[np.int64], references: NDArray[np.intp]) -> Floats:
    """As `vector_closeness`, as far as a verification tells of it: across are the distances of each person's
    first sample to the samples at the places ``references`` (R,) that show others."""
    from scipy.spatial.distance import cdist, pdist

    rows = grouped(person)[1]
    others = [references[person[references] != person[own[0]]] for own in rows]
    across = [cdist(vectors[own[:1]], vectors[each])[0] for own, each in zip(rows, others, strict=True)]
    return closeness([pdist(vectors[own]) for own in rows], across)


class ClosenessParameters(PeopleParameters):
    """``references``: at a verification the first picture of each person is compared with so many of other
    people, in as many rounds of the budget. ``learns``: what members look like is learnt from the "known"
    people, or from a "shadow", the attacker's own net, which is trained on the public; then nobody's
    membership needs to be known, and ``known`` people are left out alone."""

    references: Annotated[int, Field(ge=2, le=1000)] = 5
    learns: Literal["known", "shadow"] = "known"

    @model_validator(mode="before")
    @classmethod
    def _everybody(cls, given: Any) -> Any:
        if isinstance(given, dict) and (given.get("folds") is not None or given.get("learns") == "shadow"):
            return {"known": 0, **given}
        return given

    @property
    def needs_known(self) -> bool:
        """As ``learns`` says."""
        return self.learns == "known"

    @model_validator(mode="after")
    def _unfolded(self) -> Self:
        if self.folds is not None and not self.needs_known:
            raise ValueError("'folds' are of people whose membership is learnt from: a shadow needs none")
        return self


@attacks.register("closeness")
class Closeness(PeopleAttack):
    """A net keeps samples of people whom it was trained on nearer to one another, and farther from others. A
    logistic regression learns by how much."""

    name: ClassVar[str] = "closeness"
    summary: ClassVar[str] = "infers a teacher's members from distances within a person and to other people"
    paper: ClassVar[str] = "SLMIA-SR (Chen et al. 2024)"
    equation: ClassVar[str] = "statistics of intra- and inter-features"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "samples with the persons' names",
        "people whose membership is known, or samples of the public to train a net on",
    )
    Parameters: ClassVar[type[ClosenessParameters]] = ClosenessParameters

    @classmethod
    def fewest(cls, parameters: ClosenessParameters, release: str) -> int:  # noqa: ARG003
        """Six pairs, or the four images that make six."""
        return 6 if release == "score" else PUBLIC_IMAGES

    @classmethod
    def refuses(cls, parameters: ClosenessParameters, release: str) -> str | None:
        """Also refuses a shadow where answers are confidences, which a net's features are no model of."""
        if parameters.learns == "shadow" and release == "softmax":
            return "a shadow's features are no model of a recognition's confidences: let it learn from known"
        return super().refuses(parameters, release)

    def decides(self, release: str) -> bool:  # noqa: ARG002
        """A threshold that is learnt from known people decides; a shadow's is of another net."""
        return bool(self.parameters.needs_known)

    def scored(self, evidence: PeopleEvidence) -> Scored:
        """A score for each person whose membership is unknown, at the place of the first answer about the
        person."""
        asked, known = np.flatnonzero(~evidence.known), evidence.known
        first = np.array([np.flatnonzero(evidence.person == person)[0] for person in asked])
        seen = _seen(evidence, evidence.releases, evidence.across)
        if evidence.shadow is not None:
            lessons, member = _shadow(evidence.shadow, evidence.release, self.parameters.references)
            seen, lessons = _ranked(seen), _ranked(lessons)
            setting = choose_setting("logistic", lessons, member, seed=evidence.seed)
            return Scored(first, fitted_scores("logistic", lessons, member, seen[asked], setting))
        learnt = seen
        if evidence.lessons is not evidence.releases:
            learnt = _seen(evidence, evidence.lessons, evidence.across_lessons)
        member = evidence.member[known]
        setting = choose_setting("logistic", learnt[known], member, seed=evidence.seed)
        return Scored(first, fitted_scores("logistic", learnt[known], member, seen[asked], setting))


def _seen(evidence: PeopleEvidence, releases: Releases, across: Releases | None) -> Floats:
    if evidence.release != "score":
        return vector_closeness(releases, evidence.person)
    assert across is not None  # a verification is asked for both
    within = [releases[rows, 0] for rows in grouped(evidence.person)[1]]
    return closeness(within, list(across))


def _shadow(shadow: ShadowVectors, release: str, references: int) -> tuple[Floats, NDArray[np.bool_]]:
    """What the shadow tells of all people, and whom it was trained on: the public. References are people
    whom it was not trained on, as for the teacher."""
    vectors = np.concatenate([shadow.public, shadow.pool])
    people = len(np.unique(shadow.public_person))
    person = np.concatenate([shadow.public_person, people + shadow.pool_person])
    member = np.arange(len(np.unique(person))) < people
    if release != "score":
        return vector_closeness(vectors, person), member
    others = len(shadow.public) + np.arange(min(references + 1, len(np.unique(shadow.pool_person))))
    return first_closeness(vectors, person, others), member


def _ranked(table: Floats) -> Floats:
    """Each column's ranks, from 0 to 1: two nets have distances of other sizes."""
    order = table.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    return np.asarray((order + 0.5) / len(table), dtype=np.float64)
