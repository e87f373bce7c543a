"""Attacks on which people a teacher was trained on, from the answers of a student service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.membership import MEMBERS, MEMBERSHIP, blind_fit, blindly, judge_members
from leakrange.attacks.kinds.served import (
    Recognised,
    ask_as_users,
    crowd_of,
    deduced,
    of_each,
    served_crowd,
    utility,
)
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.people.classes import even_folds
from leakrange.attacks.people.membership import PeopleAttack, PeopleEvidence, Scored
from leakrange.attacks.people.questions import asked_pairs, pair_count
from leakrange.data import Samples, load
from leakrange.data.crowd import part_sizes
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import measured
from leakrange.metrics.outcomes import Labels
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["PeopleAsked", "PeopleKind", "evidence_of", "in_folds"]


class PeopleAsked(Strict):
    """``count`` answers about the people of the crowd in ``data``. The attacker knows the membership of the
    first ``known`` members and of as many others.

    ``undefended`` are answers without the defence, for an attacker who does not know it; it learns from
    these. Otherwise the attacker learns from ``answers``. ``recognised`` says that the attacker has to deduce
    who is in a picture.
    """

    data: DataSpec
    count: Annotated[int, Field(ge=1)]
    known: Annotated[int, Field(ge=0)]
    answers: SomeChunks
    undefended: Chunks = []
    recognised: Recognised | None = None


@kinds.register("people")
class PeopleKind(Kind):
    """The attacker queries a service in rounds, with one query about each person of the crowd per round."""

    name: ClassVar[str] = "people"
    leakage: ClassVar[str] = "auc"
    asks = "membership"
    Evidence: ClassVar[type[BaseModel]] = PeopleAsked

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """Membership of the crowd's people; the teacher was trained on half of them."""
        parameters = attack.Parameters.model_validate(given)
        crowd = served_crowd(provider)
        if isinstance(crowd, str):
            return crowd
        target = Target(attack, MEMBERSHIP, MEMBERS, parameters)
        if reason := attack.refuses(parameters, provider.release):  # type: ignore[attr-defined]
            return str(reason)
        folds, left = target.parameters.folds, crowd.people - target.parameters.known
        if left < 2:
            return f"knowing {target.parameters.known} of {crowd.people} members leaves nobody to infer"
        if folds is not None and folds > left // 2:
            return f"{folds} folds of {left} members have not two of them each"
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
        """The number of queries: equally many about each person, since scores of people can only be compared
        where they rest on as many answers."""
        crowd = crowd_of(provider.data)
        fewest, most = _rounds(target, provider, crowd)
        rounds = min(budget // target.answers(knowledge) // crowd.asked, most)
        return rounds * crowd.asked if rounds >= fewest else None

    def plan(self, cell: Cell) -> Needs | None:
        """An attacker who does not know the policy makes the same queries without it as well. Defences on
        devices are not planned: a service has none."""
        before = cell.knowledge == "unaware" and bool(cell.policy)
        budget = cell.budget // 2 if before else cell.budget
        count = self.buys(cell.target, cell.provider, cell.knowledge, budget)
        if count is None or cell.changes_devices:
            return None
        probes = {"answers": cell.ask("pool", count)}
        if before:
            probes["undefended"] = cell.ask("pool", count, undefended=True)
        probes["users"] = ask_as_users(cell)
        deduces = getattr(cell.target.parameters, "labels", "granted") != "granted"
        return Needs(
            probes=probes,
            shadows=[cell.recogniser()] if deduces else [],
            shows=_recognisable(cell.provider.data, count) if deduces else [],
            asked={"count": count},
        )

    def infer(
        self, attack: Any, evidence: PeopleAsked, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float64 (T,) and their ``places`` int64 (T,) in the pool. ``chosen`` names the
        statistics that the scores are, if any. ``people`` and ``labels_right`` are figures of `Labels`. With
        folds, also the ``fold`` int64 (T,) of each, and ``decided`` (1,): whether scores above 0 decide."""
        people_evidence, among = evidence_of(evidence, job, releases)
        each, figures = getattr(attack.parameters, "each", None), {}
        if evidence.recognised is not None:
            person = deduced(
                evidence.recognised,
                evidence.data,
                people_evidence.releases,
                releases,
                clustered=attack.parameters.labels == "clustered",
                sure=attack.parameters.sure,
            )
            named = person >= 0
            figures["labels_right"] = np.array(np.mean(person[named] == people_evidence.person[named]))
            people_evidence = replace(people_evidence, person=person)
        if each is not None:
            people_evidence, among = of_each(people_evidence, evidence.data, each)
            figures["people"] = np.array(float(len(people_evidence.membership)))
        fold = None
        if attack.parameters.folds is None:
            scored = attack.score(people_evidence)
        else:
            first = np.unique(people_evidence.person, return_index=True)[1]
            scored, fold = in_folds(attack, people_evidence, load(evidence.data).members()[among[first]])
        chosen = np.array([scored.chosen] if scored.chosen else [], dtype=str)
        arrays = {"places": among[scored.places].astype(np.int64), "scores": scored.scores, "chosen": chosen}
        arrays |= figures
        if fold is None:
            return arrays
        return {**arrays, "fold": fold, "decided": np.array([attack.decides(job.release)])}

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on the answers about the crowd, and the control beside it."""
        asked = PeopleAsked(
            data=trial.model.recipe.data,
            count=int(trial.needs.asked["count"]),
            known=trial.parameters["known"],
            answers=trial.answered("answers"),
            undefended=trial.answered("undefended"),
            recognised=_recognised(trial),
        )
        return {ATTACK: Fit(asked), **blind_fit(trial)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the scores with the record of whom the teacher was trained on."""
        data, count = trial.model.recipe.data, int(trial.needs.asked["count"])
        crowd = crowd_of(data)
        arrays, draws = trial.fitted().arrays, trial.needs.probes
        places, scores = arrays["places"], arrays["scores"]
        member = trial.members(part_sizes(crowd)["pool"])[places]
        judged = judge_members(
            trial,
            scores,
            member,
            utility=utility(trial),
            spent=count * (len(draws["answers"]) + len(draws.get("undefended", ()))),
            group=places % crowd.asked,
            fold=arrays.get("fold"),
            decided=bool("decided" in arrays and arrays["decided"].item()),
            blind=blindly(trial, member, places),
        )
        figures = {name: float(arrays[name]) for name in ("people", "labels_right") if name in arrays}
        return replace(
            judged,
            metrics=judged.metrics | measured(Labels(**figures)),
            views=judged.views | _chosen(arrays, member),
        )


def _recognisable(data: DataSpec, count: int) -> list[Span]:
    """The images of the pool that are asked about, and the attacker's photographs."""
    photographs = part_sizes(crowd_of(data))["photographs"]
    return [
        Span(data=data, split="pool", start=0, stop=count),
        Span(data=data, split="photographs", start=0, stop=photographs),
    ]


def _recognised(trial: Trial) -> Recognised | None:
    """The features by the attacker's own recogniser, of the images and of its photographs; None if it has
    none."""
    if not trial.needs.shadows:
        return None
    [pool], [photographs] = map(trial.shown, trial.needs.shows)
    return Recognised(pool=pool.releases, photographs=photographs.releases)


def _chosen(arrays: Mapping[str, NDArray[Any]], member: NDArray[np.bool_]) -> dict[str, Any]:
    """The views "chosen", the names of the statistics that were used, and "distribution", the values of a
    single one among members and others. Ranks in folds have no distribution worth showing."""
    chosen = arrays["chosen"].tolist() if "chosen" in arrays else []
    if not chosen:
        return {}
    if "fold" in arrays:
        return {"chosen": chosen}
    scores = arrays["scores"]
    values = {"members": scores[member].tolist(), "others": scores[~member].tolist()}
    return {"chosen": chosen, "distribution": {"statistic": chosen[0], **values}}


def _rounds(target: Target, provider: Offer, crowd: Crowd) -> tuple[int, int]:
    """The least and the greatest number of queries about each person."""
    most = crowd.images
    if provider.service is not None and provider.service.kind == "verification":
        most = min(target.parameters.pairs, pair_count(crowd.images))
    fewest: int = target.attack.fewest(target.parameters, provider.release)  # type: ignore[attr-defined]
    return fewest, most


def evidence_of(
    asked: PeopleAsked, job: FitJob, releases: ReleaseStore
) -> tuple[PeopleEvidence, NDArray[np.int64]]:
    """The attack's evidence, and the place (N,) in the crowd's pool of each answer.

    Raises `NotFound` for releases that are not stored, and `InvalidInput` for releases that do not fit
    together.
    """
    crowd, data = crowd_of(asked.data), load(asked.data)
    answers = releases(asked.answers)[: asked.count]
    lessons = releases(asked.undefended)[: asked.count] if asked.undefended else answers
    if len(answers) != asked.count or len(lessons) != asked.count:
        raise InvalidInput(f"{len(answers)} and {len(lessons)} answers to {asked.count} questions")
    places = np.arange(asked.count)
    if job.release == "score":
        places = asked_pairs(crowd, asked.count, asked.data.seed)[:, 0]
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
    given = replace(evidence, releases=releases, lessons=lessons, person=person)
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


def _granted(data: Samples, crowd: Crowd, known: int) -> NDArray[np.int64]:
    """Membership of the first ``known`` members and the first ``known`` others of the pool; −1 for everybody
    else."""
    member = data.members()[: crowd.asked]
    granted = np.full(len(member), -1)
    for kind in (True, False):
        granted[np.flatnonzero(member == kind)[:known]] = int(kind)
    return granted
