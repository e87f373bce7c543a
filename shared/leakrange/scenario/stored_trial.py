"""A trial whose needs are stored: all that its kind of attack reads. Its fits are done by a range's fleet, or
by the process of a campaign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.trial import ATTACK, Fit, Fitted, Shown, Trial, Uploaded
from leakrange.data import load_labels, names
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.samples import Span, Split
from leakrange.jobs.steps.fit import FitJob, given_evidence
from leakrange.scenario.plan import Plan, PlannedModel, PlannedTrial
from leakrange.scenario.results import TrialResult
from leakrange.wire.errors import LeakrangeError, NotFound

__all__ = ["Record", "Stored", "StoredTrial", "obfuscator_records", "trained_on"]

Record = Callable[[str], dict[str, Any]]
"""The record of the training of a model or an obfuscator, by its digest. Raises `NotFound` where none is
stored."""


@dataclass(frozen=True)
class Stored:
    """The stored needs of a trial: identities of stored releases, for each draw chunk by chunk, of the users'
    streams and by role of the probes; and everything that is known of the first stream, if there is one."""

    streams: list[list[str]]
    probes: Mapping[str, list[list[str]]]
    uploaded: Uploaded | None
    undefended: list[list[str]]


class StoredTrial(Trial):
    """A trial of a plan, its needs in ``stored``.

    ``results`` are those of its `fits`, by role, ``handed`` is what became of the uploads that its needs hand
    in, ``taken_steps`` the results of the steps that they ask for: each is set when it is there.
    """

    def __init__(
        self, plan: Plan, planned: PlannedTrial, stored: Stored, releases: ReleaseStore, record: Record
    ) -> None:
        self.planned = planned
        self.results: Mapping[str, Fitted] = {}
        self.handed: Uploaded | None = None
        self.taken_steps: dict[str, Any] = {}
        self._stored, self._releases, self._recorded = stored, releases, record
        self.attack, self.hidden = planned.result.attack, planned.result.sensitive
        self.budget, self.seed = planned.result.budget, planned.result.seed
        self.parameters, self.needs = planned.parameters, planned.needs
        self.model: PlannedModel = plan.models_by_id[planned.model]
        self.shadows = [plan.shadows_by_id[name] for name in planned.needs.shadows]
        """The attacker's own models."""
        self._stream = next((plan.streams_by_id[name] for name in planned.needs.streams[:1]), None)
        self._attributes = plan.classes[self.model.data]
        self.classes = self._classes(self.hidden)
        self.observed = _by_chunk(stored.streams)
        self.undefended = _by_chunk(stored.undefended)

    def _classes(self, attribute: str) -> int:
        return len(self._attributes[attribute])

    @property
    def uploaded(self) -> Uploaded:
        """The first stream of the needs. Raises `NotFound` if there is none."""
        if self._stored.uploaded is None:
            raise NotFound(f"{self.planned.result.id} needs no user's uploads")
        return self.about_hidden(self._stored.uploaded)

    def about_hidden(self, uploaded: Uploaded) -> Uploaded:
        """Return the uploads with what the provider inferred of the hidden attribute alone."""
        inferred, hides = uploaded.inferred, names(self.model.sensitive)
        if inferred is None or self.hidden not in hides:
            return uploaded
        of_hidden = inferred.of(hides.index(self.hidden), [self._classes(name) for name in hides])
        return replace(uploaded, inferred=of_hidden)

    @property
    def users(self) -> list[Span]:
        """The samples of its sessions. Raises `NotFound` if it needs no uploads."""
        if self._stream is None:
            raise NotFound(f"{self.planned.result.id} needs no user's uploads")
        return self._stream.spans

    def answered(self, role: str) -> list[list[str]]:
        """The answers to the probes of a role; none where there are no such probes."""
        return _by_chunk(self._stored.probes.get(role, []))

    def answers(self, role: str) -> NDArray[np.float32]:
        """These answers, each the mean of its draws."""
        return self._releases(self.answered(role))

    def members(self, pool: int) -> NDArray[np.bool_]:
        """Return which of the ``pool`` samples the model, or a student's teacher, was trained on. Of a model
        that somebody else trained its data says it."""
        if self.model.remote is None:
            return trained_on(self._record(), pool)
        members = load_labels(self.model.recipe.data).members()
        if len(members) != pool:
            raise LeakrangeError(
                f"the data has a pool of {len(members)} samples, and {pool} were asked about",
                hint="was it imported again meanwhile? Run the scenario again",
            )
        return members

    def trained(self, split: Split) -> Mapping[str, float]:
        """The figures of the training of the model, or of a student's teacher, on a split; none of a model
        that somebody else trained."""
        if self.model.remote is not None:
            return {}
        figures: Mapping[str, float] = self._record()["figures"].get(split, {})
        return figures

    def promised(self) -> Mapping[str, float]:
        """The ledger of the model's training; empty of a model that was not trained by DP-SGD."""
        return {} if self.model.remote is not None else self._record().get("privacy") or {}

    def _record(self) -> dict[str, Any]:
        return self._recorded((self.model.teacher or self.model).artifact)

    def obfuscators(self) -> list[Mapping[str, Any]]:
        """The records of what was trained for the defence of the users' devices; none without uploads."""
        return obfuscator_records(self._stream.local if self._stream else DefenceChain(), self._recorded)

    def shown(self, span: Span) -> list[Shown]:
        """The shadow models' releases for a span."""
        jobs = [shadow.shows(span) for shadow in self.shadows]
        return [Shown(job.recipe.data, job.identity()) for job in jobs]

    def jobs(self) -> dict[str, FitJob]:
        """Return the jobs that fit its attack, by role. Raises `LeakrangeError` if the evidence is not
        there."""
        return {
            role: self._job(fit) for role, fit in kind_of(attacks[self.planned.attack]).fits(self).items()
        }

    def _job(self, fit: Fit) -> FitJob:
        if fit.by:  # a control is the same for all attacks that give it that evidence
            return FitJob(attack=fit.by, evidence=given_evidence(fit.evidence))
        return self.planned.job(self.model.release, fit.evidence)

    def fitted(self, role: str = ATTACK) -> Fitted:
        """The result of the fit of that role."""
        if role not in self.results:
            raise NotFound(f"nothing is fitted for {self.planned.result.id} as {role!r}")
        return self.results[role]

    def taken(self, role: str) -> Any:
        """Return the result of the step of that role."""
        if role not in self.taken_steps:
            raise NotFound(f"no step was taken for {self.planned.result.id} as {role!r}")
        return self.taken_steps[role]

    @property
    def handed_in(self) -> Uploaded:
        """Return what became of the uploads that its needs hand in."""
        if self.handed is None:
            raise NotFound(f"nothing is handed in for {self.planned.result.id}")
        return self.about_hidden(self.handed)

    def __getstate__(self) -> dict[str, Any]:
        # A store cannot be sent to another process: who gets the trial there gives it stores of its own.
        return vars(self) | {"_releases": None, "_recorded": None}

    def reading(self, releases: ReleaseStore, record: Record) -> StoredTrial:
        """Return this trial, which another process has sent, reading from these stores."""
        self._releases, self._recorded = releases, record
        return self

    def judged(self) -> TrialResult:
        """Return its result. Raises `LeakrangeError` if it cannot be computed."""
        return self.planned.judged(kind_of(attacks[self.planned.attack]).judge(self))


def obfuscator_records(local: DefenceChain, record: Record) -> list[Mapping[str, Any]]:
    """The records of what was trained for a device's chain ``local``, in its order."""
    return [record(artifact) for artifact in local.artifacts]


def trained_on(record: dict[str, Any], pool: int) -> NDArray[np.bool_]:
    """Return which of the ``pool`` samples a model was trained on (pool,), from the record of its training.

    Raises `LeakrangeError` if the record does not say, or is about another pool.
    """
    places = record.get("members")
    if not isinstance(places, list) or not all(isinstance(each, int) and 0 <= each < pool for each in places):
        raise LeakrangeError(f"the model's record does not tell which of {pool} samples it was trained on")
    members = np.zeros(pool, dtype=bool)
    members[places] = True
    return members


def _by_chunk(draws: list[list[str]]) -> list[list[str]]:
    """Rearrange a list of draws, each with its chunks, into a list of chunks, each with its draws."""
    return [list(chunk) for chunk in zip(*draws, strict=True)]
