"""A trial whose needs are stored: all that its kind of attack reads. What has to be done for it, a range does
in its fleet, and a campaign in its own process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.kinds.kind import Releases
from leakrange.attacks.kinds.trial import Fitted, Trial, Uploaded
from leakrange.data import names
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.job import FitJob, Span, Split
from leakrange.scenario.plan import Plan, PlannedModel, PlannedTrial
from leakrange.wire.errors import LeakrangeError, NotFound

__all__ = ["Record", "Stored", "StoredTrial", "obfuscator_records", "trained_on"]

Record = Callable[[str], dict[str, Any]]
"""The record of the training of a model or an obfuscator, by its digest. Raises `NotFound` where none is
stored."""


@dataclass(frozen=True)
class Stored:
    """What a trial needs: identities of stored releases, for each draw chunk by chunk, of the users' streams
    and by role of the probes; and everything that is known of the first stream, if there is one."""

    streams: list[list[str]]
    probes: Mapping[str, list[list[str]]]
    uploaded: Uploaded | None
    undefended: list[list[str]]


class StoredTrial(Trial, ABC):
    """A trial of a plan, its needs in ``stored``."""

    def __init__(
        self, plan: Plan, planned: PlannedTrial, stored: Stored, releases: Releases, record: Record
    ) -> None:
        self._plan, self.planned = plan, planned
        self._stored, self._releases, self._recorded = stored, releases, record
        self.attack, self.hidden = planned.result.attack, planned.result.sensitive
        self.budget, self.seed = planned.result.budget, planned.result.seed
        self.parameters, self.needs = planned.parameters, planned.needs
        self.model: PlannedModel = next(model for model in plan.models if model.id == planned.model)
        self._stream = next((each for each in plan.streams if each.id in planned.needs.streams[:1]), None)
        self.classes = self._classes(self.hidden)
        self.observed = _by_chunk(stored.streams)
        self.undefended = _by_chunk(stored.undefended)

    def _classes(self, attribute: str) -> int:
        return len(self._plan.classes[self.model.data][attribute])

    @property
    def uploaded(self) -> Uploaded:
        """The first stream of the needs. Raises `NotFound` where they have none."""
        if self._stored.uploaded is None:
            raise NotFound(f"{self.planned.result.id} needs no user's uploads")
        return self.about_hidden(self._stored.uploaded)

    def about_hidden(self, uploaded: Uploaded) -> Uploaded:
        """Of a provider that infers several attributes, what it inferred of the hidden one."""
        inferred, hides = uploaded.inferred, names(self.model.sensitive)
        if inferred is None or self.hidden not in hides:
            return uploaded
        own = inferred.of(hides.index(self.hidden), [self._classes(name) for name in hides])
        return replace(uploaded, inferred=own)

    @property
    def users(self) -> list[Span]:
        """The samples of its sessions. Raises `NotFound` where it needs no uploads."""
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
        """Which of the ``pool`` samples the model, or a student's teacher, was trained on."""
        return trained_on(self._record(), pool)

    def trained(self, split: Split) -> Mapping[str, float]:
        """The figures of the training of the model, or of a student's teacher, on a split."""
        figures: Mapping[str, float] = self._record()["figures"].get(split, {})
        return figures

    def _record(self) -> dict[str, Any]:
        return self._recorded((self.model.teacher or self.model).artifact)

    def obfuscators(self) -> list[Mapping[str, Any]]:
        """The records of what was trained for the defence of the users' devices; none without uploads."""
        return obfuscator_records(self._stream.local if self._stream else [], self._recorded)

    async def fitted(self, evidence: BaseModel) -> Fitted:
        """The result of fitting the attack on that evidence."""
        return await self.carried_out(self.planned.job(self.model.release, evidence), self.planned.result.id)

    async def control(self, name: str, evidence: BaseModel) -> Fitted:
        """That of a control, the same for all attacks that give it that evidence."""
        job = FitJob(attack=name, evidence=evidence.model_dump(mode="json"))
        return await self.carried_out(job, f"{name} beside {self.planned.result.id}")

    @abstractmethod
    async def carried_out(self, job: FitJob, what: str) -> Fitted:
        """The result of that job, which fits ``what``; stored results are used again."""


def obfuscator_records(local: list[Any], record: Record) -> list[Mapping[str, Any]]:
    """The records of what was trained for a device's chain ``local``, in its order."""
    return [record(artifact) for artifact in DefenceChain.parse(local).artifacts]


def trained_on(record: dict[str, Any], pool: int) -> NDArray[np.bool_]:
    """Which of the ``pool`` samples a model was trained on (pool,), from the record of its training.

    Raises `LeakrangeError` where the record does not say, or is about another pool.
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
