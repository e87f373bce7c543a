"""First-cut membership inference as a fleet attack: each answer is judged on its own (FACELEAKS 4.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.people.classifiers import fitted_scores
from leakrange.attacks.people.membership import PeopleAttack, PeopleEvidence, PeopleParameters, check_people
from leakrange.attacks.people.unsupervised import direction

__all__ = ["FirstCutAttack"]


class FirstCutParameters(PeopleParameters):
    """The classifier that is fitted on the known people's vectors. A distance is its own score."""

    classifier: Literal["logistic", "forest", "svm"] = "logistic"


@attacks.register("first-cut")
class FirstCutAttack(PeopleAttack):
    """Scores single answers by a classifier fitted on answers about known people. A distance is the score
    itself; the known people decide its sign."""

    name: ClassVar[str] = "first-cut"
    summary: ClassVar[str] = "tells a teacher's members by single answers, as if records told of it"
    paper: ClassVar[str] = "FACELEAKS"
    equation: ClassVar[str] = "Section 4.1, Tables 1 and 2"
    grants: ClassVar[tuple[str, ...]] = ("queries", "people whose membership is known")
    Parameters: ClassVar[type[FirstCutParameters]] = FirstCutParameters

    @classmethod
    def fewest(cls, release: str) -> int:  # noqa: ARG003
        """One is enough."""
        return 1

    def score(self, evidence: PeopleEvidence) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """A score for each image, or pair, of people whose membership is unknown."""
        check_people(evidence)
        known = evidence.known[evidence.person]
        member = evidence.member[evidence.person][known]
        lessons, asked = evidence.lessons[known], evidence.releases[~known]
        if evidence.release == "score":
            _, sign, _ = direction(lessons, member)
            scores = sign * asked[:, 0].astype(np.float64)
        else:
            scores = fitted_scores(self.parameters.classifier, lessons, member, asked, seed=evidence.seed)
        return np.flatnonzero(~known), scores
