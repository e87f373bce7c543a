"""A trial whose needs are met, as its kind of attack sees it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.trial import Fitted, Shown, Uploaded
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.job import FitJob, Span
from leakrange.jobs.verdict import Verdict
from leakrange.scenario.plan import PlannedTrial
from leakrange.scenario.stored_trial import Stored, StoredTrial
from leakrange.store.files import get_arrays, get_record, put_arrays, whole
from leakrange.store.releases import StoredReleases
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import ARTIFACT, UPLOADS
from leakrange.wire.errors import LeakrangeError, NotFound
from leakrange.wire.events import Purpose
from leakrange.wire.keys import api_key
from leakrange.wire.names import upload_name
from services.controller.range.auditing import audit_job, verdict_of
from services.controller.range.context import RunContext
from services.controller.range.together import together


class ReadyTrial(StoredTrial):
    """A trial of a run."""

    def __init__(self, context: RunContext, planned: PlannedTrial, stored: Stored) -> None:
        parties = context.parties
        record = partial(get_record, parties.models)
        super().__init__(context.plan, planned, stored, StoredReleases(parties.releases), record)
        self._context = context

    async def shown(self, span: Span) -> list[Shown]:
        """The shadow models' releases for a span."""
        shadows = [self._context.shadows[name] for name in self.needs.shadows]
        found = await together(self._context.own.shown(shadow, span) for shadow in shadows)
        return [Shown(shadow.recipe.data, name) for shadow, name in zip(shadows, found, strict=True)]

    def _purpose(self, key: str = "") -> Purpose:
        trial = self.planned.result
        return self._context.purpose(self.model, trial.defence, trial=trial.id, key=key)

    async def carried_out(self, job: FitJob, what: str) -> Fitted:
        """The result of that job of the fleet; stored results are used again."""
        context = self._context
        identity = job.identity()
        await context.journal.expect("fit", {identity: self._purpose()})
        already = whole(context.parties.releases, f"{identity}.npz")
        if not already:
            async with context.fitting:
                await context.dispatch.run(job, f"fitting {what}")
        await context.journal.job_done(identity, "fit", {}, message=f"fitted {what}", already=already)
        return Fitted(identity, get_arrays(context.parties.releases, f"{identity}.npz"))

    async def audited(self, plan: AuditPlan) -> Verdict:
        """The verdict on the model, which a worker downloads with a key that is good for nothing else."""
        context, trial = self._context, self.planned.result
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
        context, trial, outputs = self._context, self.planned.result, student.arrays["scores"]
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
        return self.about_hidden(Uploaded(self.uploaded.truths, read["decisions"], inferred))

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
