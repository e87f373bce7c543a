"""First-cut membership inference: each answer is judged on its own (FACELEAKS 4.1)."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from leakrange.attacks import attacks
from leakrange.attacks.people.class_scores import direction
from leakrange.attacks.people.classifiers import fitted_scores
from leakrange.attacks.people.folds import FoldsBy
from leakrange.attacks.people.membership import (
    PeopleAttack,
    PeopleEvidence,
    PeopleParameters,
    Scored,
)

__all__ = ["FirstCutAttack"]


class FirstCutParameters(PeopleParameters):
    """The classifier that is fitted on the known people's vectors. A distance is its own score.

    ``folds_by``: with ``folds``, all answers about a "person" are in one fold, or each "record" is dealt to a
    fold by itself, as the paper's words suggest. Then the classifier has seen other images of nearly every
    person together with their membership, so recognising the person is enough. The paper cannot mean that:
    its figures below one half match folds by person. Report both.
    """

    classifier: Literal["logistic", "forest", "svm"] = "logistic"
    folds_by: FoldsBy = "person"

    @model_validator(mode="after")
    def _folded(self) -> Self:
        if self.folds_by == "record" and self.folds is None:
            raise ValueError("'folds_by' takes effect with 'folds' only: give their number, or leave it out")
        return self


@attacks.register("first-cut")
class FirstCutAttack(PeopleAttack):
    """Scores single answers by a classifier fitted on answers about known people. A distance is the score
    itself; the known people decide its sign."""

    name: ClassVar[str] = "first-cut"
    summary: ClassVar[str] = "infers a teacher's members from single answers"
    paper: ClassVar[str] = "FACELEAKS"
    equation: ClassVar[str] = "Section 4.1, Tables 1 and 2"
    grants: ClassVar[tuple[str, ...]] = ("queries", "people whose membership is known")
    Parameters: ClassVar[type[FirstCutParameters]] = FirstCutParameters

    @classmethod
    def fewest(cls, parameters: FirstCutParameters, release: str) -> int:  # noqa: ARG003
        """One image or pair is enough."""
        return 1

    @property
    def by_record(self) -> bool:
        """As ``folds_by`` says."""
        return self.parameters.folds_by == "record"  # type: ignore[no-any-return]

    def decides(self, release: str) -> bool:
        """True for classifiers; a distance has no threshold."""
        return release != "score"

    def scored(self, evidence: PeopleEvidence) -> Scored:
        """A score for each image, or pair, of people whose membership is unknown."""
        known = evidence.known[evidence.person]
        member = evidence.member[evidence.person][known]
        lessons, asked = evidence.lessons[known], evidence.releases[~known]
        if evidence.release == "score":
            _, sign = direction(lessons, member)
            scores = sign * asked[:, 0].astype(np.float64)
        else:
            scores = fitted_scores(self.parameters.classifier, lessons, member, asked, seed=evidence.seed)
        return Scored(np.flatnonzero(~known), scores)
