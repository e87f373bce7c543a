"""Class-based membership inference: uses all answers about one person together (FACELEAKS 4.2)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.people.class_scores import ClassScores, log_confidences, of_distances, of_vectors
from leakrange.attacks.people.classifiers import choose_setting, fitted_scores
from leakrange.attacks.people.membership import (
    PeopleAttack,
    PeopleEvidence,
    PeopleParameters,
    check_people,
)
from leakrange.attacks.people.projection import projected
from leakrange.attacks.people.unsupervised import direction

__all__ = ["ClassBased"]

LESSONS_EACH = 5
"""Known people to a principal component, at least."""

Floats = NDArray[np.float64]


class ClassBasedParameters(PeopleParameters):
    """How a person's answers become a score.

    ``statistic``: S of their covariance (features and recognition, Eq. 3), or one of six statistics of
    distances. ``mixture``: a component of a Gaussian mixture. For both, the known people only decide which
    score is used and its sign. ``qda`` and ``logistic`` are classifiers fitted on the known people. They read
    the statistics of distances, or principal components of the covariances: as many as in the paper, but at
    most one for every five known people. ``logarithm``: reads the logarithms of a recognition's confidences,
    which the paper's attacker does not.
    """

    logarithm: bool = False
    method: Literal["statistic", "mixture", "qda", "logistic"] = "statistic"


@attacks.register("class-based")
class ClassBased(PeopleAttack):
    """Compares how a teacher's vectors of one person spread: those of members spread less, or more, than
    those of strangers."""

    name: ClassVar[str] = "class-based"
    summary: ClassVar[str] = "tells a teacher's members by how the answers about each person spread"
    paper: ClassVar[str] = "FACELEAKS"
    equation: ClassVar[str] = "Algorithm 1, Eq. 3, Sections 5.1 to 5.3"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "pictures with the persons' names",
        "people whose membership is known",
    )
    Parameters: ClassVar[type[ClassBasedParameters]] = ClassBasedParameters

    @classmethod
    def fewest(cls, release: str) -> int:
        """Six pairs, so that quartiles mean something; or four images, so that the covariance has rank
        three."""
        return 6 if release == "score" else 4

    def score(self, evidence: PeopleEvidence) -> tuple[NDArray[np.int64], Floats]:
        """A score for each person whose membership is unknown, at the place of the first answer about the
        person."""
        check_people(evidence)
        known, asked = evidence.known, np.flatnonzero(~evidence.known)
        first = np.array([np.flatnonzero(evidence.person == person)[0] for person in asked])
        seen = self._classes(evidence, evidence.releases)
        learnt = seen if evidence.lessons is evidence.releases else self._classes(evidence, evidence.lessons)
        if self.parameters.method in ("statistic", "mixture"):
            return first, _by_sign(seen, learnt, known, evidence.member, self.parameters.method)
        kind: Literal["qda", "logistic"] = "qda" if self.parameters.method == "qda" else "logistic"
        member = evidence.member[known]
        components = seen.components
        if components is not None:
            # More of them than the lessons can bear would describe these people, and nobody else.
            components = min(components, max(2, len(member) // LESSONS_EACH))
        lessons, questions = projected(learnt.features[known], seen.features[asked], components)
        setting = choose_setting(kind, lessons, member, seed=evidence.seed)
        return first, fitted_scores(kind, lessons, member, questions, setting, evidence.seed)

    def _classes(self, evidence: PeopleEvidence, releases: NDArray[np.float32]) -> ClassScores:
        mixture = self.parameters.method == "mixture"
        order = np.argsort(evidence.person, kind="stable")
        if evidence.release == "score":
            return of_distances(releases[order], evidence.person[order], mixture=mixture, seed=evidence.seed)
        people = len(evidence.membership)
        if evidence.release == "features":
            return of_vectors("features", releases[order], people, mixture=mixture, seed=evidence.seed)
        values = log_confidences(releases) if self.parameters.logarithm else releases
        return of_vectors("recognition", values[order], people, mixture=mixture, seed=evidence.seed)


def _by_sign(
    seen: ClassScores, learnt: ClassScores, known: NDArray[np.bool_], member: NDArray[np.bool_], method: str
) -> Floats:
    """The column, with the sign, that separates the known people best, for all others."""
    wanted = [
        column
        for family, own in seen.families.items()
        for column in own
        if (family == "mixture") == (method == "mixture")
    ]
    column, sign, _ = direction(learnt.scores[known][:, wanted], member[known])
    scores: Floats = sign * seen.scores[~known, wanted[column]]
    return scores
