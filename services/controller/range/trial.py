"""A trial whose needs are met, as its kind of attack sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.trial import Fitted, Shown, Trial, Uploaded
from leakrange.data import names
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.job import Span, Split
from leakrange.jobs.verdict import Verdict
from leakrange.scenario.plan import PlannedModel, PlannedTrial
from leakrange.store.files import FolderStore, get_arrays, joined, put_arrays, whole
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import ARTIFACT, UPLOADS
from leakrange.wire.errors import LeakrangeError, NotFound
from leakrange.wire.events import Purpose
from leakrange.wire.keys import api_key
from leakrange.wire.names import upload_name
from services.controller.range.auditing import audit_job, verdict_of
from services.controller.range.context import RunContext
from services.controller.range.together import together


class ReadyTrial(Trial):
    """A trial of a run. ``streams`` and ``probes`` hold identities of stored releases, for each draw chunk
    by chunk."""

    def __init__(
        self,
        context: RunContext,
        planned: PlannedTrial,
        streams: list[list[str]],
        probes: Mapping[str, list[list[str]]],
        uploaded: Uploaded | None,
        undefended: list[list[str]],
    ) -> None:
        self._context, self._planned = context, planned
        self._probes, self._uploaded = probes, uploaded
        self.attack, self.hidden = planned.result.attack, planned.result.sensitive
        self.budget, self.seed = planned.result.budget, planned.result.seed
        self.parameters, self.needs = planned.parameters, planned.needs
        self.model: PlannedModel = context.models[planned.model]
        self.classes = self._classes(self.hidden)
        self.observed = _by_chunk(streams)
        self.undefended = _by_chunk(undefended)

    def _classes(self, attribute: str) -> int:
        return len(self._context.plan.classes[self.model.data][attribute])

    @property
    def uploaded(self) -> Uploaded:
        """The first stream of the needs. Raises `NotFound` where they have none."""
        if self._uploaded is None:
            raise NotFound(f"{self._planned.result.id} needs no user's uploads")
        return self._about_hidden(self._uploaded)

    def _about_hidden(self, uploaded: Uploaded) -> Uploaded:
        """Of a provider that infers several attributes, what it inferred of the hidden one."""
        inferred, hides = uploaded.inferred, names(self.model.sensitive)
        if inferred is None or self.hidden not in hides:
            return uploaded
        own = inferred.of(hides.index(self.hidden), [self._classes(name) for name in hides])
        return replace(uploaded, inferred=own)

    @property
    def users(self) -> list[Span]:
        """The samples of its sessions."""
        return self._context.streams[self.needs.streams[0]].spans

    def answered(self, role: str) -> list[list[str]]:
        """The answers to the probes of a role; none where there are no such probes."""
        return _by_chunk(self._probes.get(role, []))

    def answers(self, role: str) -> NDArray[np.float32]:
        """These answers, each the mean of its draws."""
        return joined(self._context.parties.releases, self.answered(role))

    def members(self, pool: int) -> NDArray[np.bool_]:
        """Which of the ``pool`` samples the model, or a student's teacher, was trained on."""
        return trained_on(self._record(), pool)

    def trained(self, split: Split) -> Mapping[str, float]:
        """The figures of the training of the model, or of a student's teacher, on a split."""
        figures: Mapping[str, float] = self._record()["figures"].get(split, {})
        return figures

    def _record(self) -> dict[str, Any]:
        return record_of((self.model.teacher or self.model).artifact, self._context.parties.models)

    def obfuscators(self) -> list[Mapping[str, Any]]:
        """The records of what was trained for the defence of the users' devices; none without uploads."""
        stream = self._context.streams[self.needs.streams[0]] if self.needs.streams else None
        return obfuscator_records(stream.local if stream else [], self._context.parties.models)

    async def shown(self, span: Span) -> list[Shown]:
        """The shadow models' releases for a span."""
        shadows = [self._context.shadows[name] for name in self.needs.shadows]
        found = await together(self._context.own.shown(shadow, span) for shadow in shadows)
        return [Shown(shadow.recipe.data, name) for shadow, name in zip(shadows, found, strict=True)]

    def _purpose(self, key: str = "") -> Purpose:
        trial = self._planned.result
        return self._context.purpose(self.model, trial.defence, trial=trial.id, key=key)

    async def fitted(self, evidence: BaseModel) -> Fitted:
        """The result of fitting the attack on that evidence in the fleet; stored results are used again."""
        context, trial = self._context, self._planned.result.id
        job = self._planned.job(self.model.release, evidence)
        identity = job.identity()
        await context.journal.expect("fit", {identity: self._purpose()})
        already = whole(context.parties.releases, f"{identity}.npz")
        if not already:
            async with context.fitting:
                await context.dispatch.run(job, f"fitting {trial}")
        await context.journal.job_done(identity, "fit", {}, message=f"fitted {trial}", already=already)
        return Fitted(identity, get_arrays(context.parties.releases, f"{identity}.npz"))

    async def audited(self, plan: AuditPlan) -> Verdict:
        """The verdict on the model, which a worker downloads with a key that is good for nothing else."""
        context, trial = self._context, self._planned.result
        await context.own.served(self.model)
        served_as = context.own.name(self.model)
        name = f"{context.run}.auditor.{self.model.id}"
        key = await context.accounts.key(
            name,
            holder="auditor",
            purpose=self._purpose(),
            policy=context.policies[trial.defence].name,
            budget=0,
            models=[served_as],
            endpoints=[ARTIFACT],
            key=api_key(context.parties.fleet_secret.get_secret_value(), name),
        )
        card = await context.parties.proxy.card(key, served_as)
        where = {"url": context.parties.proxy_for_clients, "model": served_as, "account": name}
        job = audit_job(card, plan, **where, key=None)
        identity = job.identity()
        await context.journal.expect("audit", {identity: self._purpose(name)})
        async with context.fitting:
            await context.dispatch.run(job, f"auditing {self.model.id}")
        verdict = await verdict_of(job, context.parties.releases)
        await context.journal.job_done(identity, "audit", {}, message=f"audited {self.model.id}")
        return verdict

    async def handed_in(self, student: Fitted) -> Uploaded:
        """The decisions on a student's soft outputs for the users' samples, and what the provider inferred
        from them; and behind these of outputs for records of its own, if the student was run on some."""
        context, trial, outputs = self._context, self._planned.result, student.arrays["scores"]
        policy = context.policies[trial.defence]
        identity = digest(["student", student.identity, policy.digest])
        name = f"{context.run}.student.{self.model.id}.{identity[:12]}"
        await context.journal.expect("stream", {identity: self._purpose(name)})
        key = await context.accounts.key(
            name,
            holder="student",
            purpose=self._purpose(),
            policy=policy.name,
            budget=len(outputs),
            models=[context.own.name(self.model)],
            endpoints=[UPLOADS],
        )
        known = whole(context.parties.releases, f"{identity}.npz")
        if not known:
            try:
                async with context.sessions:
                    await context.journal.dispatch(identity, "stream")
                    found = await self._hand_in(outputs, name, key, context.own.upload(identity))
            except LeakrangeError as error:
                await context.journal.job_failed(identity, "stream", f"{trial.id}: {error.detail}")
                raise
            put_arrays(context.parties.releases, f"{identity}.npz", found)
        await context.journal.job_done(
            identity,
            "stream",
            {"key": None if known else name, "samples": len(outputs)},  # known: another run has paid for it
            message=f"{len(outputs)} outputs of the student of {trial.id}",
            samples=0 if known else len(outputs),
            requests=0 if known else len(self._uploads(outputs)),
            already=known,
        )
        read = get_arrays(context.parties.releases, f"{identity}.npz")
        inferred = Inference(read["inferred"], read["scores"])
        return self._about_hidden(Uploaded(self.uploaded.truths, read["decisions"], inferred))

    def _uploads(self, outputs: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """A student's outputs, upload by upload."""
        most = max(span.stop - span.start for span in self.users)
        ends = np.cumsum([span.stop - span.start for span in self.users]).tolist()
        # Beyond the users' are outputs for the provider's own records.
        ends += range(ends[-1] + most, len(outputs), most)
        return [part for part in np.split(outputs, ends) if len(part)]

    async def _hand_in(
        self, outputs: NDArray[np.float32], account: str, key: str, upload: str
    ) -> dict[str, NDArray[np.generic]]:
        """Upload a student's soft outputs (V, Y) with the ``key`` of the user's ``account``, as an edge
        client uploads those of the provider's model. Each span is one upload, named ``{upload}.0``,
        ``{upload}.1``, …. Then ask the provider what it inferred from them.

        Returns ``decisions`` (V,), ``inferred`` (V,), of several attributes (V, A), and ``scores`` (V, S). A
        repetition under the same names costs nothing and returns the same. Raises `NotFound` where the
        provider has no decoder.
        """
        parties, model = self._context.parties, self.model
        served_as = self._context.own.name(model)
        decisions: list[Any] = []
        inferred: list[Any] = []
        scores: list[list[float]] = []
        for number, values in enumerate(self._uploads(outputs)):
            name = f"{upload}.{number}"
            decided = await parties.proxy.upload(key, served_as, "softmax", values, name)
            record = await parties.providers.intake(
                model.recipe.behaviour, served_as, upload_name(account, name)
            )
            if record.decisions != decided:
                raise LeakrangeError(f"provider and user disagree about upload {name}")
            if record.inferred is None or record.scores is None:
                raise NotFound(f"the provider of {model.id} has no decoder: it inferred nothing")
            decisions += decided
            inferred += record.inferred
            scores += record.scores
        return {
            "decisions": np.asarray(decisions, dtype=np.int64),
            "inferred": np.asarray(inferred, dtype=np.int64),
            "scores": np.asarray(scores, dtype=np.float32),
        }


def record_of(artifact: str, models: FolderStore) -> dict[str, Any]:
    """The record of the training of a model or an obfuscator. Raises `NotFound` where none is stored."""
    found: dict[str, Any] = orjson.loads(models.get(f"{artifact}/training.json"))
    return found


def obfuscator_records(local: list[Any], models: FolderStore) -> list[Mapping[str, Any]]:
    """The records of what was trained for a device's chain ``local``, in its order."""
    return [record_of(artifact, models) for artifact in DefenceChain.parse(local).artifacts]


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
