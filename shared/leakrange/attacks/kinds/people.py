"""Attacks on which people a teacher was trained on, from the answers of a student service."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, Kind, Releases
from leakrange.attacks.kinds.membership import MEMBERS, MEMBERSHIP, judge_members
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Model, Trial
from leakrange.attacks.people.folds import even_folds
from leakrange.attacks.people.membership import PeopleAttack, PeopleEvidence
from leakrange.attacks.people.pairs import pair_count
from leakrange.attacks.people.questions import asked_pairs, public_pair_count, public_pairs
from leakrange.attacks.people.topk import revealed_scores
from leakrange.data import Samples, load
from leakrange.data.crowd import part_sizes
from leakrange.jobs.job import FitJob, Split
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.metrics import Estimate, accuracy, pair_distances
from leakrange.metrics.verification import verification
from leakrange.wire.errors import InvalidInput

__all__ = ["PeopleAsked", "PeopleKind", "asked_by_users", "evidence_of", "in_folds", "served_right"]


class PeopleAsked(BaseModel):
    """``count`` answers about the people of the crowd in ``data``. The attacker knows the membership of the
    first ``known`` members and of as many others.

    ``undefended`` are answers without the defence, for an attacker who does not know it; it learns from
    these. Otherwise the attacker learns from ``answers``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: DataSpec
    count: Annotated[int, Field(ge=1)]
    known: Annotated[int, Field(ge=1)]
    answers: Annotated[Chunks, Field(min_length=1)]
    undefended: Chunks = []


@kinds.register("people")
class PeopleKind(Kind):
    """The attacker queries a service in rounds. Each round has one question about each person of the
    crowd."""

    name: ClassVar[str] = "people"
    leakage: ClassVar[str] = "auc"
    Evidence: ClassVar[type[BaseModel]] = PeopleAsked

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The crowd; the teacher was trained on half of its people."""
        parameters = attack.Parameters.model_validate(given)
        crowd = provider.data.crowd
        if provider.service is None or crowd is None:
            return "it is no service that is asked about people: it has no 'service'"
        target = Target(attack, MEMBERSHIP, MEMBERS, parameters)
        folds, known = target.parameters.folds, target.parameters.known
        if folds is None and known > crowd.people - 2:
            return f"knowing {known} of {crowd.people} members leaves nobody to ask after"
        if folds is not None and folds > crowd.people // 2:
            return f"{folds} folds of {crowd.people} members have not two of them each"
        fewest, most = _rounds(target, provider, crowd)
        if most < fewest:
            return f"{crowd.images} images of a person are too few for it"
        return target

    def buys(
        self,
        target: Target,
        provider: Offer,
        knowledge: Knowledge,
        budget: int,
        available: int | None = None,  # noqa: ARG002
    ) -> int | None:
        """The number of questions. It is the same for each person, so that the attacker knows nobody better
        than others."""
        crowd = _crowd(provider.data)
        fewest, most = _rounds(target, provider, crowd)
        rounds = min(budget // target.answers(knowledge) // crowd.asked, most)
        return rounds * crowd.asked if rounds >= fewest else None

    def plan(self, cell: Cell) -> Needs | None:
        """An attacker who does not know the policy has asked the same questions without it. A service has no
        devices."""
        before = cell.knowledge == "unaware" and bool(cell.policy)
        budget = cell.budget // 2 if before else cell.budget
        count = self.buys(cell.target, cell.provider, cell.knowledge, budget)
        if count is None or cell.changes_devices:
            return None
        probes = {"answers": cell.ask("pool", count)}
        if before:
            probes["undefended"] = cell.ask("pool", count, undefended=True)
        probes["users"] = cell.ask(*asked_by_users(cell.provider), by="users")
        return Needs(probes=probes, asked={"count": count})

    def infer(
        self, attack: Any, evidence: PeopleAsked, job: FitJob, releases: Releases
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (T,), and their ``places`` int64 (T,) in the pool."""
        told, among = evidence_of(evidence, job, releases)
        if attack.parameters.revealed is not None and job.release == "softmax":
            told = _revealed(told, attack.parameters.revealed)
        if attack.parameters.folds is None:
            rows, scores = attack.score(told)
        else:
            crowd = _crowd(evidence.data)
            member = load(evidence.data).members()[: crowd.asked]
            rows, scores = in_folds(attack, told, member, attack.parameters.folds)
        return {"places": among[rows].astype(np.int64), "scores": scores.astype(np.float32)}

    async def judge(self, trial: Trial) -> Judged:
        """Compares the scores with the record that training left of the teacher's people."""
        data, count = trial.model.recipe.data, int(trial.needs.asked["count"])
        found = await trial.fitted(
            PeopleAsked(
                data=data,
                count=count,
                known=trial.parameters["known"],
                answers=trial.answered("answers"),
                undefended=trial.answered("undefended"),
            )
        )
        crowd = _crowd(data)
        places, draws = found.arrays["places"], trial.needs.probes
        return judge_members(
            trial,
            found.arrays["scores"],
            trial.members(part_sizes(crowd)["pool"])[places],
            utility={"honesty": Estimate(value=served_right(trial.model, trial.answers("users")))},
            spent=count * (len(draws["answers"]) + len(draws.get("undefended", ()))),
            person=places % crowd.asked,
        )


def _crowd(data: DataSpec) -> Crowd:
    if data.crowd is None:
        raise ValueError(f"the data {data.name!r} has no crowd: check the scenario first")
    return data.crowd


def _rounds(target: Target, provider: Offer, crowd: Crowd) -> tuple[int, int]:
    """The least and the greatest number of questions about each person."""
    most = crowd.images
    if provider.service is not None and provider.service.kind == "verification":
        most = min(target.parameters.pairs, pair_count(crowd.images))
    fewest: int = target.attack.fewest(provider.release)  # type: ignore[attr-defined]
    return fewest, most


def asked_by_users(provider: Offer) -> tuple[Split, int]:
    """The honest users' queries: images of enrolled people for a recognition, images or pairs of the public
    for other services. For a verification, pairs are counted."""
    crowd, service = _crowd(provider.data), provider.service
    split: Split = "held" if service is not None and service.kind == "recognition" else "public"
    if service is not None and service.kind == "verification":
        return split, public_pair_count(crowd)
    return split, part_sizes(crowd)[split]


def served_right(model: Model, answers: NDArray[np.floating]) -> float:
    """The share of users' queries that a service answered correctly, in [0, 1].

    For a recognition it is the accuracy on held-out images of the enrolled people. For features and distances
    it is the accuracy of verification among the public. Its threshold is cross-validated on these answers:
    this is what a user can reach under the defence. answers: (N, k), to all of the users' queries.
    """
    crowd, service = model.recipe.data.crowd, model.service
    if crowd is None or service is None:
        raise ValueError(f"{model.id} is no service that is asked about people")
    if service.kind == "recognition":
        known = np.arange(len(answers)) % crowd.students
        return accuracy(answers.argmax(axis=1), known)
    pairs = public_pairs(crowd)
    if service.kind == "verification":
        distances = answers[:, 0]
    else:
        first, second = pairs.places.T
        distances = pair_distances(answers[first], answers[second], service.distance)
    return verification(distances, pairs.same, pairs.fold).mean


def evidence_of(
    asked: PeopleAsked, job: FitJob, releases: Releases
) -> tuple[PeopleEvidence, NDArray[np.int64]]:
    """The evidence that the job's attack is given, and the place (N,) in the crowd's pool of each of its
    answers.

    Raises `NotFound` for releases that are not stored, and `InvalidInput` for releases that do not fit
    together.
    """
    crowd, data = asked.data.crowd, load(asked.data)
    if crowd is None:
        raise InvalidInput(f"the data {asked.data.name!r} has no crowd to ask after")
    answers = releases(asked.answers)[: asked.count]
    lessons = releases(asked.undefended)[: asked.count] if asked.undefended else answers
    if len(answers) != asked.count or len(lessons) != asked.count:
        raise InvalidInput(f"{len(answers)} and {len(lessons)} answers to {asked.count} questions")
    places = asked_pairs(crowd, asked.count)[:, 0] if job.release == "score" else np.arange(asked.count)
    evidence = PeopleEvidence(
        releases=answers,
        lessons=lessons,
        person=places % crowd.asked,
        membership=_granted(data, crowd, asked.known),
        release=job.release,
        seed=job.seed,
    )
    return evidence, places


def in_folds(
    attack: PeopleAttack, told: PeopleEvidence, member: NDArray[np.bool_], folds: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places in the evidence and their scores, for all people (P,); ``member`` are those that the teacher was
    trained on. Each fold is scored by an attacker who knows the membership of all other folds.

    Scores of different folds are on different scales, so each fold's scores are replaced by their ranks, from
    0 to 1.
    """
    fold = even_folds(member, folds, told.seed)
    rows, scores = [], []
    sides: tuple[Literal["left"], Literal["right"]] = ("left", "right")
    for each in range(folds):
        places, found = attack.score(replace(told, membership=np.where(fold == each, -1, member.astype(int))))
        ordered = np.sort(found)
        below, above = (np.searchsorted(ordered, found, side) for side in sides)
        rows.append(places)
        scores.append((below + above) / (2 * len(found)))
    return np.concatenate(rows), np.concatenate(scores)


def _revealed(told: PeopleEvidence, count: int) -> PeopleEvidence:
    """The evidence of an attacker who sees only the highest confidences."""
    count = min(count, told.releases.shape[1])
    releases = revealed_scores(told.releases, count).astype(np.float32)
    own = told.lessons is told.releases
    lessons = releases if own else revealed_scores(told.lessons, count).astype(np.float32)
    return replace(told, releases=releases, lessons=lessons)


def _granted(data: Samples, crowd: Crowd, known: int) -> NDArray[np.int64]:
    """Membership of the first ``known`` members and the first ``known`` others of the pool; −1 for everybody
    else."""
    member = data.members()[: crowd.asked]
    granted = np.full(len(member), -1)
    for kind in (True, False):
        granted[np.flatnonzero(member == kind)[:known]] = int(kind)
    return granted
