"""Attacks on membership: which records of a pool a model was trained on."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import AskedStep, Cell, Needs, Offer
from leakrange.attacks.kinds.defended import Defended
from leakrange.attacks.kinds.kind import Chunks, Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.recorded import recorded_members
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Shown, Trial
from leakrange.attacks.kinds.users import decisions_of
from leakrange.attacks.membership.boundary import BoundaryDistance
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence
from leakrange.data import POPULATION, Samples, names
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.data.resembling import groups_of
from leakrange.data.spans import members_of, samples_of, span_of
from leakrange.data.splits import draw_canaries
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.walk import WALK, WalkOrder, Walks
from leakrange.metrics import Estimate, Membership, Ranking, measured
from leakrange.metrics.controls import BesideBlind
from leakrange.metrics.one_run import DELTA, Canaries
from leakrange.metrics.views import viewed
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput, LeakrangeError

__all__ = [
    "MEMBERS",
    "MEMBERSHIP",
    "Drawn",
    "MembershipKind",
    "blind_fit",
    "blindly",
    "evidence_of",
    "judge_members",
]

MEMBERSHIP = "membership"
"""The name of what such attacks infer."""
MEMBERS = ("not trained on", "trained on")
WALKS = "walks"
"""The role of the step of an attack that walks."""
BLIND = "blind"
"""The control, and the role of its fit."""


class Shadow(Strict):
    """One of the attacker's own models. ``data`` says what it was trained on. ``records``, ``population`` and
    ``variants`` are identities of its stored releases for the samples that the target is queried with."""

    data: DataSpec
    records: str
    population: str | None = None
    variants: Annotated[list[str], Field(exclude_if=operator.not_)] = []


class Population(Strict):
    """Records that no model was trained on. The first of the target's ``answers`` about them belong to
    ``span``."""

    span: Span
    answers: Chunks


class Candidates(Strict):
    """Records whose membership is to be inferred, and the target's ``answers`` about them.

    ``records`` name the pool by a specification that does not reveal the model's members. ``target`` is the
    attribute that the model predicts: the attacker knows each record's class. ``shadows`` are the attacker's
    own models, trained in the fleet. ``defence`` is a chain of output defences that the attacker applies to
    their outputs; with several ``draws`` the results are averaged. ``variants`` are the target's answers
    about variants of the records: see `leakrange.jobs.samples.Span`.
    """

    records: Span
    answers: Chunks
    target: str
    population: Population | None = None
    shadows: list[Shadow] = []
    defence: list[Any] = []
    draws: Annotated[int, Field(ge=1)] = 1
    variants: list[SomeChunks] = []

    @model_validator(mode="after")
    def _of_something(self) -> Self:
        if not self.answers and self.population is None:
            raise ValueError("answers are about the records, about a population, or about both")
        return self


class Drawn(Strict):
    """The pool of the data, and which of its records a model was trained on: only for a control; no attacker
    sees it."""

    data: DataSpec


class _Asked(Strict):
    """The samples to query: the pool, in so many variants, and the population if the attack uses one."""

    records: Span
    population: Span | None = None
    defence: list[Any] = []
    queries: Annotated[int, Field(exclude_if=lambda queries: queries == 1)] = 1
    """How often each record is queried; 0 for an attacker who asks about the population alone."""

    @property
    def variants(self) -> dict[str, Span]:
        """By the role of their probes, the pool in each variant but the first."""
        numbers = range(1, self.queries)
        return {f"records.{each}": self.records.model_copy(update={"variant": each}) for each in numbers}

    @property
    def count(self) -> int:
        """The number of samples."""
        return self.records.stop * self.queries + (self.population.stop if self.population else 0)


@kinds.register("membership")
class MembershipKind(Kind):
    """The attacker queries the whole pool through the API and trains shadow models."""

    name: ClassVar[str] = "membership"
    leakage: ClassVar[str] = "auc"
    hides: ClassVar[str] = "who was in the training set"
    asks = "membership"
    wants_values: ClassVar[bool] = True
    Evidence: ClassVar[type[BaseModel]] = Candidates

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The pool that the provider's training set was drawn from."""
        if reason := provider.no_uploads:
            return reason
        if provider.data.subset is None:
            return "its data has no 'subset', so it trains on all and nobody is no member"
        if not isinstance(provider.target, str):
            return "it is asked for several attributes, and the attack reads how sure it is of one"
        return Target(attack, MEMBERSHIP, MEMBERS, attack.Parameters.model_validate(given))

    def buys(
        self, target: Target, provider: Offer, knowledge: Knowledge, budget: int, available: int | None = None
    ) -> int | None:
        """The size of the pool, as often as each record is asked about, and of the population where the
        attack uses one. A budget that does not cover both buys nothing. Who asks about the population alone
        asks about as much of it as the budget covers."""
        population = self._population(target, knowledge, budget, available)
        count = _pool(provider) * _queries(target) + population
        return count if 0 < count * target.answers(knowledge) <= budget else None

    def plan(self, cell: Cell) -> Needs | None:
        """All attackers get the same answers. One who knows the defence also applies it to the outputs of its
        shadow models."""
        available = cell.available()
        if self.buys(cell.target, cell.provider, cell.knowledge, cell.budget, available) is None:
            return None
        if issubclass(cell.target.attack, BoundaryDistance):
            return _walks(cell)
        population = self._population(cell.target, cell.knowledge, cell.budget, available)
        pool = _pool(cell.provider)
        records = Span(data=cell.data, split="pool", start=0, stop=pool)
        shadows = [cell.shadow(number) for number in range(getattr(cell.target.parameters, "shadows", 0))]
        if issubclass(cell.target.attack, MembershipAttack) and cell.target.attack.crafts:
            records = cell.crafted(records, shadows)
        asked = _Asked(
            records=records,
            population=Span(data=cell.data, split=POPULATION, start=0, stop=population)
            if population
            else None,
            defence=[] if cell.knowledge == "unaware" else cell.policy,
            queries=_queries(cell.target),
        )
        variants = {
            role: cell.ask("pool", pool, variant=span.variant) for role, span in asked.variants.items()
        }
        return Needs(
            streams=cell.uploads(),  # only for the honesty of the decisions: one draw is enough
            probes=({"records": cell.ask("pool", pool, crafted=records.crafted)} if asked.queries else {})
            | ({"population": cell.ask(POPULATION, population)} if population else {})
            | variants,
            shadows=shadows,
            shows=[
                span
                for span in (asked.records, asked.population, *asked.variants.values())
                if span is not None
            ],
            asked=asked.model_dump(mode="json"),
        )

    def infer(
        self, attack: Any, evidence: Candidates, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (N,) of the records of the pool, and which of these resemble each other,
        ``group`` (N,). The threshold is chosen when the trial is judged."""
        data, records = span_of(evidence.records)
        scores = attack.score(evidence_of(evidence, job, releases))
        return {"scores": scores.astype(np.float32), "group": groups_of(data)[records]}

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on the pool's records, and the control beside it."""
        if trial.needs.steps:
            return blind_fit(trial)
        asked = _Asked.model_validate(trial.needs.asked)
        [target] = names(trial.model.target)
        records, population = asked.records, asked.population
        on_records = trial.shown(records)
        on_population = trial.shown(population) if population else [None] * len(on_records)
        on_variants = [trial.shown(span) for span in asked.variants.values()]
        candidates = Candidates(
            records=records,
            answers=trial.answered("records"),
            target=target,
            population=population and Population(span=population, answers=trial.answered("population")),
            shadows=[_shadow(*each) for each in zip(on_records, on_population, *on_variants, strict=True)],
            defence=asked.defence,
            draws=_draws(trial),
            variants=[trial.answered(role) for role in asked.variants],
        )
        return {ATTACK: Fit(candidates), **blind_fit(trial)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the scores with the record of what the model was trained on."""
        asked = _Asked.model_validate(trial.needs.asked)
        members = trial.members(asked.records.stop)
        blind = blindly(trial, members, np.arange(len(members)))
        if trial.needs.steps:
            walks: Walks = trial.taken(WALKS)
            scores, group = BoundaryDistance.scores(walks.joined("distances")), blind.group
            spent = int(walks.joined("asked").sum())
        else:
            arrays = trial.fitted().arrays
            scores, group = arrays["scores"], arrays.get("group")
            spent = _draws(trial) * asked.count
        return judge_members(
            trial,
            scores,
            members,
            utility=measured(decisions_of(trial, trial.uploaded)),
            group=group,
            blind=blind,
            spent=spent,
            places=canary_places(trial),
        )

    def judge_recorded(self, attack: type[Attack], answers: RecordedAnswers, seed: int) -> Judged | str:
        """See `recorded_members`."""
        return recorded_members(attack, answers, seed)

    def _population(self, target: Target, knowledge: Knowledge, budget: int, available: int | None) -> int:
        if not _queries(target):
            return target.affordable(budget // target.answers(knowledge), available) or 0
        wanted = int(getattr(target.parameters, "population", 0))
        return wanted if available is None else min(wanted, available)


def _pool(provider: Offer) -> int:
    assert provider.data.subset is not None  # else it has no target
    return provider.data.subset.pool


def _walks(cell: Cell) -> Needs:
    """The needs of an attack that chooses what it asks by earlier answers."""
    records = Span(data=cell.data, split="pool", start=0, stop=_pool(cell.provider))
    assert isinstance(cell.provider.target, str)  # else it has no target
    order = WalkOrder(span=records, target=cell.provider.target, queries=_queries(cell.target))
    return Needs(
        streams=cell.uploads(),
        steps={WALKS: AskedStep(step=WALK.name, parameters=order.model_dump(mode="json"))},
        asked=_Asked(records=records).model_dump(mode="json"),
    )


def _draws(trial: Trial) -> int:
    return len(next(iter(trial.needs.probes.values())))


def _queries(target: Target) -> int:
    return int(getattr(target.parameters, "queries", 1))


def _shadow(records: Shown, population: Shown | None, *variants: Shown) -> Shadow:
    return Shadow(
        data=records.data,
        records=records.releases,
        population=None if population is None else population.releases,
        variants=[each.releases for each in variants],
    )


def judge_members(
    trial: Trial,
    scores: NDArray[np.floating],
    members: NDArray[np.bool_],
    *,
    utility: dict[str, Estimate],
    spent: int,
    group: NDArray[np.integer] | None = None,
    fold: NDArray[np.integer] | None = None,
    decided: bool = False,
    blind: Ranking | None = None,
    places: NDArray[np.integer] | None = None,
) -> Judged:
    """Compares one score per record (N,), higher meaning member, with the truth (N,).

    ``utility`` holds the metrics of what users got under the same defence. ``spent`` is the number of answers
    that the attack used. ``group`` (N,) tells which records resemble each other, as those of one person do,
    and ``fold`` (N,) which model gave each score, if several did; ``decided`` whether scores above 0
    say member. ``blind`` is what `blindly` says of the same records, and ``places`` are those of canaries
    among them. Raises `LeakrangeError` for a wrong number of scores, or scores that are not numbers.
    """
    if scores.shape != members.shape or not np.isfinite(scores).all():
        raise LeakrangeError(
            f"{trial.attack} gave {len(scores)} scores for {len(members)} records, or some that are no number"
        )
    membership = Membership(scores, members, group, fold, trial.seed, decided)
    beside: list[object] = [] if blind is None else [BesideBlind(membership, blind)]
    views = viewed(membership.guesses, membership)
    if places is not None:
        ledger = trial.promised()
        canaries = Canaries(
            scores[places], members[places], ledger.get("epsilon"), ledger.get("delta", DELTA)
        )
        beside.append(canaries)
        views |= canaries.viewed(ledger)
    return Judged(
        metrics=utility | measured(membership.guesses, membership, *beside),
        views=views,
        victims=len(membership.guesses.truth),
        spent=spent,
    )


def canary_places(trial: Trial) -> NDArray[np.intp] | None:
    """The places in the pool of its canaries; None where it has none."""
    data = trial.model.recipe.data
    if data.subset is None or data.subset.canaries is None:
        return None
    return draw_canaries(data.subset, data.seed)


def blind_fit(trial: Trial) -> dict[str, Fit]:
    """The control of the trial's model: the same for all attacks on it."""
    return {BLIND: Fit(Drawn(data=trial.model.recipe.data), by=BLIND)}


def blindly(trial: Trial, members: NDArray[np.bool_], places: NDArray[np.integer]) -> Ranking:
    """The blind classifier's scores for the records at those ``places`` (N,) of the pool, with their
    membership (N,)."""
    arrays = trial.fitted(BLIND).arrays
    return Ranking(arrays["scores"][places], members, arrays["group"][places], arrays["fold"][places])


def evidence_of(candidates: Candidates, job: FitJob, releases: ReleaseStore) -> MembershipEvidence:
    """The attack's evidence.

    Raises `NotFound` for releases that are not stored, and `InvalidInput` for releases that do not fit
    together.
    """
    data, records = span_of(candidates.records)
    population, answers = records[:0], None
    if candidates.population is not None:
        population = _of_same(data, candidates.population.span)
        answers = releases(candidates.population.answers)[: len(population)]
        if len(answers) != len(population):
            raise InvalidInput(f"{len(answers)} answers for a population of {len(population)}")
    asked_about = [each for each in (candidates.answers, *candidates.variants) if each]
    queries = [releases(each) for each in asked_about]
    for each in queries:
        if len(each) != len(records):
            raise InvalidInput(f"{len(each)} answers for {len(records)} records")
    if answers is None:
        answers = queries[0][:0]
    observed = np.stack(queries) if queries else np.empty((0, len(records), answers.shape[1]), np.float32)
    # only the attacker's own noise hangs on the samples: crafted ones may stand as they were
    plain = candidates.records.model_copy(update={"crafted": ""})
    spans = [plain.model_copy(update={"variant": each}) for each in range(len(queries))]
    asked = np.concatenate([*map(samples_of, spans), data.values[population]])
    released = _shadows(candidates, asked, releases, job, observed.shape[2])
    about_records, about_population = np.split(released, [len(asked) - len(population)], axis=1)
    labels = data.labels[candidates.target]
    return MembershipEvidence(
        observed=observed,
        labels=labels[records],
        shadows=about_records.reshape(len(released), *observed.shape),
        members=members_of(candidates.records, data, [each.data for each in candidates.shadows]),
        population=answers,
        population_labels=labels[population],
        population_shadows=about_population,
        release=job.release,
        samples=data.values[records],
        population_samples=data.values[population],
        spec=data.spec,
        seed=job.seed,
    )


def _of_same(data: Samples, span: Span) -> NDArray[np.int64]:
    known, chosen = span_of(span)
    if known.fingerprint != data.fingerprint:
        raise InvalidInput("the population is of other data than the records")
    return chosen


def _shadows(
    candidates: Candidates, asked: NDArray[Any], releases: ReleaseStore, job: FitJob, width: int
) -> NDArray[np.float32]:
    """The shadows' releases (K, N, Y) for the samples ``asked`` (N, ...), defended as far as the attacker
    knows the defence."""
    released = np.empty((len(candidates.shadows), len(asked), width), dtype=np.float32)
    defended = Defended(job, asked, candidates.defence, candidates.draws)
    for number, shadow in enumerate(candidates.shadows):
        names = [shadow.records, *shadow.variants] + ([shadow.population] if shadow.population else [])
        plain = releases([[name] for name in names])[: len(asked)]  # a prefix of the population is enough
        if plain.shape != released.shape[1:]:
            raise InvalidInput(f"a shadow's releases are {plain.shape}, the target's {released.shape[1:]}")
        released[number] = defended(plain, number)
    return released
