"""Membership inference from answers about people: each answer is judged on its own (first cut, FACELEAKS
4.1), or all answers about one person together (class-based, FACELEAKS 4.2)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from leakrange.attacks import attacks
from leakrange.attacks.people.class_scores import ClassScores, Statistic, direction, of_distances, of_vectors
from leakrange.attacks.people.classes import FoldsBy, left, trimmed
from leakrange.attacks.people.classifiers import choose_setting, fitted_scores, projected
from leakrange.attacks.people.membership import (
    PeopleAttack,
    PeopleEvidence,
    PeopleParameters,
    Scored,
)

__all__ = ["ClassBased", "FirstCutAttack"]


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


FEWEST_IMAGES = 4
"""The least number of images of a person, so that the covariance has rank three."""
LESSONS_EACH = 5
"""The least number of known people for each principal component."""


class ClassBasedParameters(PeopleParameters):
    """How a person's answers become a score.

    ``statistic``: S of their covariance (features and recognition, Eq. 3), or one of six statistics of
    distances: the one that ``statistic`` names, or that tells the known people apart best. ``mixture``: a
    component of a Gaussian mixture. ``best``: any of these. For all three, the known people only decide which
    score is used and its sign. ``qda`` and ``logistic`` are classifiers fitted on the known people. They read
    the statistics of distances, or principal ``components`` of the covariances: unless given as many as in
    the paper, but at most one for every five known people.

    ``labels``: who is in a picture is "granted", or "deduced" by the attacker's own recogniser, which is
    trained on the public, from up to three other photographs of each person (Algorithm 1, line 2). With
    "clustered" it first puts the answers into as many clusters as there are people, and names each cluster as
    a whole. Only the ``sure`` share of the images is named, those for which the next person is farthest.
    ``each``: so many random images of each person are used, and people with fewer are left out. ``trim``: of
    each person's vectors that share is left out which lies farthest from the others.
    """

    method: Literal["statistic", "mixture", "best", "qda", "logistic"] = "statistic"
    statistic: Statistic | None = None
    components: Annotated[int, Field(ge=1, le=10_000)] | None = None
    labels: Literal["granted", "deduced", "clustered"] = "granted"
    sure: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    each: Annotated[int, Field(ge=FEWEST_IMAGES, le=1000)] | None = None
    trim: Annotated[float, Field(ge=0.0, le=0.5)] = 0.0

    @model_validator(mode="after")
    def _of_method(self) -> Self:
        if self.statistic is not None and self.method != "statistic":
            raise ValueError(f"method {self.method!r} takes no 'statistic'")
        if self.components is not None and self.method not in ("qda", "logistic"):
            raise ValueError(f"method {self.method!r} takes no 'components'")
        if self.labels != "granted" and self.each is None:
            raise ValueError(f"'labels: {self.labels}' needs 'each': people of as many images are compared")
        if self.sure < 1.0 and self.labels == "granted":
            raise ValueError("'sure' is of labels that the attacker deduces: granted ones are right")
        if self.trim and self.each is not None and left(self.each, self.trim) < FEWEST_IMAGES:
            raise ValueError(f"'trim' leaves {left(self.each, self.trim)} images: {FEWEST_IMAGES} are needed")
        return self


@attacks.register("class-based")
class ClassBased(PeopleAttack):
    """Compares how a teacher's vectors of one person spread: those of members spread less, or more, than
    those of strangers."""

    name: ClassVar[str] = "class-based"
    summary: ClassVar[str] = "infers a teacher's members from the spread of the answers about each person"
    paper: ClassVar[str] = "FACELEAKS"
    equation: ClassVar[str] = "Algorithm 1, Eq. 3, Sections 5.1 to 5.3"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "pictures with the persons' names",
        "people whose membership is known",
    )
    Parameters: ClassVar[type[ClassBasedParameters]] = ClassBasedParameters

    @classmethod
    def fewest(cls, parameters: ClassBasedParameters, release: str) -> int:
        """One pair for a mean or a median, six for other statistics, so that quartiles mean something; or
        four images, so that the covariance has rank three."""
        if release == "score":
            return 1 if parameters.statistic in ("mean", "median") else 6
        least = int(parameters.each or FEWEST_IMAGES)
        while left(least, parameters.trim) < FEWEST_IMAGES:
            least += 1
        return least

    @classmethod
    def refuses(cls, parameters: ClassBasedParameters, release: str) -> str | None:
        """Also refuses parameters about distances where a release has none, and the reverse."""
        if parameters.statistic is not None and release != "score":
            return f"the {parameters.statistic} is a statistic of a verification's distances"
        if parameters.components is not None and release == "score":
            return "distances have no principal components"
        if parameters.each is not None and release == "score":
            return "'each' and deduced labels are of single images, not of pairs"
        if parameters.trim and release == "score":
            return "'trim' is of vectors, not of distances"
        return super().refuses(parameters, release)

    def decides(self, release: str) -> bool:  # noqa: ARG002
        """True for classifiers; statistics have no threshold."""
        return self.parameters.method in ("qda", "logistic")

    def scored(self, evidence: PeopleEvidence) -> Scored:
        """A score for each person whose membership is unknown, at the place of the first answer about the
        person."""
        known, asked = evidence.known, np.flatnonzero(~evidence.known)
        first = np.array([np.flatnonzero(evidence.person == person)[0] for person in asked])
        seen = self._classes(evidence, evidence.releases)
        learnt = seen if evidence.lessons is evidence.releases else self._classes(evidence, evidence.lessons)
        if not self.decides(evidence.release):
            wanted = self._columns(seen)
            place, sign = direction(learnt.scores[known][:, wanted], evidence.member[known])
            column = wanted[place]
            return Scored(first, sign * seen.scores[~known, column], seen.names[column])
        kind: Literal["qda", "logistic"] = "qda" if self.parameters.method == "qda" else "logistic"
        member = evidence.member[known]
        components = self.parameters.components or seen.components
        if components is not None and self.parameters.components is None:
            # More of them would fit the known people, and nobody else.
            components = min(components, max(2, len(member) // LESSONS_EACH))
        lessons, questions = projected(learnt.features[known], seen.features[asked], components)
        setting = choose_setting(kind, lessons, member, seed=evidence.seed)
        return Scored(first, fitted_scores(kind, lessons, member, questions, setting, evidence.seed))

    def _columns(self, seen: ClassScores) -> list[int]:
        """The columns of scores that the method may choose from."""
        method, statistic = self.parameters.method, self.parameters.statistic
        return [
            column
            for family, columns in seen.families.items()
            for column in columns
            if method == "best" or ((family == "mixture") == (method == "mixture"))
            if statistic in (None, family)
        ]

    def _classes(self, evidence: PeopleEvidence, releases: NDArray[np.floating]) -> ClassScores:
        mixture = self.parameters.method in ("mixture", "best")
        order = np.argsort(evidence.person, kind="stable")
        if evidence.release == "score":
            distances = releases[order]
            return of_distances(distances, evidence.person[order], mixture=mixture, seed=evidence.seed)
        people = len(evidence.membership)
        api = "features" if evidence.release == "features" else "recognition"
        kept = trimmed(releases[order], people, self.parameters.trim)
        return of_vectors(api, kept, people, mixture=mixture, seed=evidence.seed)
