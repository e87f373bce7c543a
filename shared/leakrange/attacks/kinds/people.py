"""Attacks on which people a teacher was trained on, from the answers of a student service."""

from __future__ import annotations

import operator
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
from leakrange.attacks.people.membership import PeopleEvidence, ShadowVectors, in_folds
from leakrange.attacks.people.questions import asked_pairs, pair_count
from leakrange.data import Samples, load
from leakrange.data.crowd import PUBLIC_IMAGES, part_sizes
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.jobs.samples import Span, Split
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import measured
from leakrange.metrics.outcomes import Labels
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["PeopleAsked", "PeopleKind", "evidence_of"]


class Shadowed(Strict):
    """Features by a net that was trained on the public, of these and of the pool's first pictures: identities
    of stored releases."""

    public: str
    pool: str


class PeopleAsked(Strict):
    """``count`` answers about the people of the crowd in ``data``. The attacker knows the membership of the
    first ``known`` members and of as many others.

    ``undefended`` are answers without the defence, for an attacker who does not know it; it learns from
    these. Otherwise the attacker learns from ``answers``. ``recognised`` says that the attacker has to deduce
    who is in a picture. ``across`` are distances of each person's first picture to ``references`` of the
    public. ``shadow`` are features by the attacker's own net.
    """

    data: DataSpec
    count: Annotated[int, Field(ge=1)]
    known: Annotated[int, Field(ge=0)]
    answers: SomeChunks
    undefended: Chunks = []
    recognised: Recognised | None = None
    # Where unused these are left out, so that what was fitted before there were such fields keeps its name.
    across: Annotated[Chunks, Field(exclude_if=operator.not_)] = []
    across_undefended: Annotated[Chunks, Field(exclude_if=operator.not_)] = []
    references: Annotated[int, Field(ge=0, exclude_if=operator.not_)] = 0
    shadow: Annotated[Shadowed | None, Field(exclude_if=operator.not_)] = None


@kinds.register("people")
class PeopleKind(Kind):
    """The attacker queries a service in rounds, with one query about each person of the crowd per round."""

    name: ClassVar[str] = "people"
    leakage: ClassVar[str] = "auc"
    hides: ClassVar[str] = "who was in the training set"
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
        rounds = min(budget // target.answers(knowledge) // crowd.asked - _references(target, provider), most)
        return rounds * crowd.asked if rounds >= fewest else None

    def plan(self, cell: Cell) -> Needs | None:
        """An attacker who does not know the policy makes the same queries without it as well, if it learns
        from answers about known people. Defences on devices are not planned: a service has none."""
        before = cell.knowledge == "unaware" and bool(cell.policy) and cell.target.parameters.needs_known
        budget = cell.budget // 2 if before else cell.budget
        count = self.buys(cell.target, cell.provider, cell.knowledge, budget)
        if count is None or cell.changes_devices:
            return None
        probes = {"answers": cell.ask("pool", count)}
        if before:
            probes["undefended"] = cell.ask("pool", count, undefended=True)
        asked = {"count": count}
        if references := _references(cell.target, cell.provider):
            asked["references"] = references
            across = crowd_of(cell.provider.data).asked * references
            probes["across"] = cell.ask("pool", across, references=references)
            if before:
                probes["across_undefended"] = cell.ask("pool", across, references=references, undefended=True)
        probes["users"] = ask_as_users(cell)
        shows = _shown(cell, count)
        return Needs(probes=probes, shadows=[cell.recogniser()] if shows else [], shows=shows, asked=asked)

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
            across=trial.answered("across"),
            across_undefended=trial.answered("across_undefended"),
            references=trial.needs.asked.get("references", 0),
            shadow=_shadowed(trial),
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
            spent=(count + crowd.asked * trial.needs.asked.get("references", 0))
            * (len(draws["answers"]) + len(draws.get("undefended", ()))),
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


def _shown(cell: Cell, count: int) -> list[Span]:
    """The pictures that the attacker's own net is shown, if it has one. To deduce who is shown, those of the
    pool that are asked about, and its photographs; to learn what members look like, the public and as many
    of each person of the pool."""
    data, parameters = cell.data, cell.target.parameters
    crowd = crowd_of(data)
    wanted: dict[Split, int] = {}
    if getattr(parameters, "labels", "granted") != "granted":
        wanted = {"pool": count, "photographs": part_sizes(crowd)["photographs"]}
    elif getattr(parameters, "learns", "known") == "shadow":
        images = min(PUBLIC_IMAGES, crowd.images)
        wanted = {"public": part_sizes(crowd)["public"], "pool": crowd.asked * images}
    return [Span(data=data, split=part, start=0, stop=stop) for part, stop in wanted.items()]


def _recognised(trial: Trial) -> Recognised | None:
    """The features by the attacker's own recogniser, of the images and of its photographs; None if it does
    not deduce who is shown."""
    shown = _by_part(trial)
    return Recognised(**shown) if "photographs" in shown else None


def _shadowed(trial: Trial) -> Shadowed | None:
    """The features from which the attacker learns what members look like; None where it has known people."""
    shown = _by_part(trial)
    return Shadowed(**shown) if "public" in shown else None


def _by_part(trial: Trial) -> dict[str, str]:
    return {span.split: trial.shown(span)[0].releases for span in trial.needs.shows}


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


def _references(target: Target, provider: Offer) -> int:
    """The number of pictures with which each person's first one is compared, at a verification alone."""
    return int(getattr(target.parameters, "references", 0)) if provider.release == "score" else 0


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
    across = _across(asked.across, asked, crowd, releases)
    evidence = PeopleEvidence(
        releases=answers,
        lessons=lessons,
        person=places % crowd.asked,
        membership=_granted(data, crowd, asked.known),
        release=job.release,
        seed=job.seed,
        across=across,
        across_lessons=_across(asked.across_undefended, asked, crowd, releases)
        if asked.undefended
        else across,
        shadow=None if asked.shadow is None else _vectors(asked.shadow, crowd, releases),
    )
    return evidence, places


def _across(
    chunks: Chunks, asked: PeopleAsked, crowd: Crowd, releases: ReleaseStore
) -> NDArray[np.float32] | None:
    """The distances (P, R) of each person to the references; None where they were not asked for."""
    if not chunks:
        return None
    wanted = crowd.asked * asked.references
    answers = releases(chunks)[:wanted]
    if len(answers) != wanted:
        raise InvalidInput(f"{len(answers)} distances of {crowd.asked} people to {asked.references} others")
    return answers.reshape(crowd.asked, asked.references)


def _vectors(shadow: Shadowed, crowd: Crowd, releases: ReleaseStore) -> ShadowVectors:
    public, pool = releases([[shadow.public]]), releases([[shadow.pool]])
    people = np.arange(len(public)) % crowd.public, np.arange(len(pool)) % crowd.asked
    return ShadowVectors(public, people[0], pool, people[1])


def _granted(data: Samples, crowd: Crowd, known: int) -> NDArray[np.int64]:
    """Membership of the first ``known`` members and the first ``known`` others of the pool; −1 for everybody
    else."""
    member = data.members()[: crowd.asked]
    granted = np.full(len(member), -1)
    for kind in (True, False):
        granted[np.flatnonzero(member == kind)[:known]] = int(kind)
    return granted
