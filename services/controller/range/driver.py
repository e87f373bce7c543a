"""A run, executed: every model, stream, probe and fit of its plan once, each begun as soon as what it needs
is there.

What is stored already (by this run before a restart, or by an earlier one) is not done again: results lie
under content-addressed names, and every request that costs budget carries its identity.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import orjson
import structlog
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.jobs.job import FitJob, ProbeJob, Shadow, Span
from leakrange.jobs.session import Session
from leakrange.metrics import Decisions, Estimate, measured
from leakrange.scenario.plan import (
    Plan,
    PlannedMembers,
    PlannedModel,
    PlannedPeople,
    PlannedProbe,
    PlannedStream,
    PlannedTrial,
)
from leakrange.scenario.results import TrialResult
from leakrange.store.files import get_array, get_arrays, put_array, put_arrays, whole
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import ARTIFACT, UPLOADS
from leakrange.wire.errors import LeakrangeError, NotFound, StorageFull
from leakrange.wire.keys import api_key
from leakrange.wire.names import upload_name
from services.controller.range.accounts import Accounts
from services.controller.range.dispatch import Dispatch
from services.controller.range.journal import Journal
from services.controller.range.judge import Inferred, Observed, judge, registered
from services.controller.range.members import judge_members, trained_on
from services.controller.range.models import Models
from services.controller.range.parties import Parties
from services.controller.range.served import served_right
from services.controller.range.students import hand_in
from services.controller.range.together import Once, together
from services.controller.range.uploaded import Uploaded, read_uploads
from services.controller.settings import ControllerSettings

__all__ = ["Driver"]

log = structlog.get_logger("services.controller.driver")
FITS_AT_ONCE = 8
DEVICE = [ARTIFACT, UPLOADS]
"""What a user's device asks for: the model once, then decisions on its outputs."""


class Driver:
    """Executes one plan. Everything in it may be cancelled and begun again at any point."""

    def __init__(
        self, run: str, plan: Plan, parties: Parties, journal: Journal, settings: ControllerSettings
    ) -> None:
        self._run, self._plan, self._parties, self._journal = run, plan, parties, journal
        self._models = {model.id: model for model in plan.models}
        self._shadows = {model.id: model for model in plan.shadows}
        self._policies = {policy.defence: policy for policy in plan.policies}
        self._streams = {stream.id: stream for stream in plan.streams}
        self._probes = {probe.id: probe for probe in plan.probes}
        self._sessions = asyncio.Semaphore(settings.sessions_at_once)
        self._probing = asyncio.Semaphore(settings.probes_at_once)
        self._fitting = asyncio.Semaphore(FITS_AT_ONCE)
        self._once = Once()
        self._done: set[str] = set()
        self._dispatch = Dispatch(parties.fleet, journal)
        self._own = Models(parties, journal, self._once, self._dispatch)
        self._accounts = Accounts(parties.proxy, journal)

    @property
    def in_fleet(self) -> set[str]:
        """Identities of the jobs that wait or run in the fleet, to be dropped when the run is cancelled."""
        return self._dispatch.in_fleet

    async def execute(self) -> None:
        """Do all of it; trials that cannot be finished are recorded as failed, with the reason."""
        self._done = await self._journal.done_before()
        self._dispatch.sent = await self._journal.dispatched_before()
        await self._accounts.begin()
        judged = await self._journal.done_trials()
        await self._journal.expect(
            [
                (model.artifact, "train", {"model": model.id})
                for model in (*self._plan.models, *self._plan.shadows)
            ]
        )
        for policy in self._plan.policies:
            await self._parties.proxy.put_policy(policy.name, policy.chain)
        try:
            async with asyncio.TaskGroup() as group:
                for trial in self._plan.trials:
                    if trial.result.id not in judged:
                        group.create_task(self._trial(trial))
        finally:
            await self._once.end()
        await self._dispatch.drop()
        await self._accounts.close()

    # --- users -------------------------------------------------------------------------------------

    async def _stream(self, stream: PlannedStream) -> list[str]:
        """Every session of a stream; the identities of its stored releases, in order."""
        model, policy = self._models[stream.model], self._policies[stream.defence]
        await self._own.served(model)
        identities = [stream.identity(model, policy, span) for span in stream.spans]
        await self._journal.expect([(identity, "stream", {"stream": stream.id}) for identity in identities])
        samples = sum(span.stop - span.start for span in stream.spans)
        name = f"{self._run}.users.{stream.id}"
        key = await self._accounts.key(
            name, policy=policy.name, budget=samples, model=self._own.name(model), endpoints=DEVICE
        )
        users = asyncio.Semaphore(stream.clients)  # each of whom does one thing at a time

        async def session_of(span: Span, identity: str) -> None:
            async with users:
                await self._session(stream, model, name, key, span, identity)

        await together(
            session_of(span, identity) for span, identity in zip(stream.spans, identities, strict=True)
        )
        return identities

    async def _session(
        self, stream: PlannedStream, model: PlannedModel, name: str, key: str, span: Span, identity: str
    ) -> None:
        stored = all(whole(self._parties.releases, f"{identity}.{kind}") for kind in ("npy", "npz"))
        if not (stored and identity in self._done):
            async with self._sessions:
                order = Session(
                    url=self._parties.proxy_for_clients,
                    api_key=key,
                    model=self._own.name(model),
                    release=model.release,
                    span=span,
                    upload=self._own.upload(identity),
                    defence=stream.local,
                )
                try:
                    reply = await self._parties.edge.session(order)
                    record = await self._parties.providers.intake(
                        model.recipe.behaviour, order.model, upload_name(name, order.upload)
                    )
                    if len(record.values) != reply.samples or record.decisions != reply.decisions:
                        raise LeakrangeError(f"provider and edge client disagree about upload {order.upload}")
                except LeakrangeError as error:
                    await self._journal.job_failed(identity, "stream", f"{stream.id}: {error.detail}")
                    raise
            extra = {"decisions": np.asarray(record.decisions, dtype=np.int64)}
            if record.inferred is not None and record.scores is not None:
                extra["inferred"] = np.asarray(record.inferred, dtype=np.int64)
                extra["scores"] = np.asarray(record.scores, dtype=np.float32)
            # The releases come last: where they are, all of the session is.
            put_arrays(self._parties.releases, f"{identity}.npz", extra)
            put_array(self._parties.releases, f"{identity}.npy", np.asarray(record.values, dtype=np.float32))
            await self._journal.job_done(
                identity,
                "stream",
                {"key": name, "samples": reply.samples},
                message=f"{reply.samples} users' outputs of {stream.id}",
                truth=reply,
            )

    # --- outside attackers ---------------------------------------------------------------------------

    async def _probe(self, probe: PlannedProbe) -> list[str]:
        """Every chunk of a probe; the identities of its stored releases, in order."""
        model, policy = self._models[probe.model], self._policies[probe.defence]
        await self._own.served(model)
        samples = sum(span.stop - span.start for span in probe.spans)
        name = f"{self._run}.{probe.by}.{probe.id}"
        await self._accounts.key(
            name,
            policy=policy.name,
            budget=samples,
            model=self._own.name(model),
            endpoints=[model.endpoint],
            key=api_key(self._parties.fleet_secret.get_secret_value(), name),
        )
        where = {"url": self._parties.proxy_for_clients, "account": name, "name": self._own.name(model)}
        jobs = [probe.job(model, policy, span, **where) for span in probe.spans]
        await self._journal.expect([(job.identity(), "probe", {"probe": probe.id}) for job in jobs])

        async def chunk(job: ProbeJob) -> None:
            identity = job.identity()
            size = job.samples
            known = whole(self._parties.releases, f"{identity}.npy")
            if not known:
                async with self._probing:
                    await self._dispatch.run(job, f"probing {probe.id}")
            if identity not in self._done:
                # Answers that another run had asked for were paid with its key.
                own = identity in self._dispatch.sent
                await self._journal.job_done(
                    identity,
                    "probe",
                    {"key": name if own else None, "samples": size},
                    message=f"{size} answers for {probe.id}" + ("" if own else ", known already"),
                )

        await together(chunk(job) for job in jobs)
        return [job.identity() for job in jobs]

    # --- trials --------------------------------------------------------------------------------------

    async def _trial(self, trial: PlannedTrial) -> None:
        try:
            result = await self._judged(trial)
        except StorageFull:
            raise  # what is paid for could not be kept: the run ends
        except LeakrangeError as error:
            await self._accounts.check()  # which ends the run, and not this trial alone
            result = trial.result.model_copy(update={"state": "failed", "error": error.detail})
        except ValidationError as error:
            # A party of another version, say: its trials fail, and the others go on.
            log.error("an answer that cannot be read", trial=trial.result.id, exc_info=error)
            reason = f"a party's answer cannot be read: {error.error_count()} mistakes in {error.title}"
            result = trial.result.model_copy(update={"state": "failed", "error": reason})
        await self._journal.trial(result)

    async def _uploaded(self, stream: PlannedStream) -> Uploaded:
        """A stream, and all that is known of it, read once for the many trials that are judged by it."""
        identities = await self._once.need(f"stream {stream.id}", lambda: self._stream(stream))
        return await read_uploads(identities, self._journal, self._parties.releases)

    async def _judged(self, trial: PlannedTrial) -> TrialResult:
        model = self._models[trial.model]
        if trial.people is not None:
            return await self._people(trial, trial.people, model)
        draws = await together(
            self._once.need(f"stream {name}", partial(self._stream, self._streams[name]))
            for name in trial.streams
        )
        first = self._streams[trial.streams[0]]
        uploaded = await self._once.need(f"uploaded {first.id}", lambda: self._uploaded(first))
        target = registered(uploaded.truths, model.target)
        if trial.members is not None:
            utility = measured(Decisions(uploaded.decisions, target))
            return await self._members(trial, trial.members, model, utility)
        observed = Observed(
            target=target,
            sensitive=registered(uploaded.truths, trial.result.sensitive),
            decisions=uploaded.decisions,
        )
        classes = len(self._plan.classes[model.data][trial.result.sensitive])
        if trial.where == "provider":
            if uploaded.inferred is None:
                raise NotFound(f"the provider of {model.id} has no decoder: it inferred nothing")
            return judge(trial.result, observed, uploaded.inferred, classes, seen=trial.result.budget)
        probes = await self._answers(trial.probes)
        spent = trial.auxiliary_count * len(trial.probes)
        if trial.where == "user":
            job = trial.student_job(model, _by_chunk(probes), first.spans)
            outputs = (await self._fitted(trial, job)).scores
            decisions, inferred = await self._handed_in(trial, model, job, outputs)
            return judge(trial.result, replace(observed, decisions=decisions), inferred, classes, spent=spent)
        job = trial.job(model.release, _by_chunk(probes), _by_chunk(draws))
        return judge(trial.result, observed, await self._fitted(trial, job), classes, spent=spent)

    async def _answers(self, probes: list[str]) -> list[list[str]]:
        """The stored chunks of each of these probes."""
        return await together(
            self._once.need(f"probe {name}", partial(self._probe, self._probes[name])) for name in probes
        )

    async def _members(
        self,
        trial: PlannedTrial,
        members: PlannedMembers,
        model: PlannedModel,
        utility: dict[str, Estimate],
    ) -> TrialResult:
        """A membership attack, judged by the model's own record of what it was trained on."""
        shadows = [self._shadows[name] for name in members.shadows]
        for shadow in shadows:  # while the target is asked
            self._own.begin(shadow)
        asked, population = await together([self._answers(members.probes), self._answers(trial.probes)])
        own = [
            Shadow(
                data=shadow.recipe.data,
                records=await self._own.shown(shadow, members.records),
                population=await self._own.shown(shadow, trial.span) if trial.span else None,
            )
            for shadow in shadows
        ]
        job = trial.membership_job(model, _by_chunk(population), _by_chunk(asked), own)
        scores = (await self._fitted(trial, job)).scores[:, 0]
        record = orjson.loads(self._parties.models.get(f"{model.artifact}/training.json"))
        records = members.records.stop - members.records.start
        return judge_members(
            trial.result,
            scores,
            trained_on(record, records),
            utility=utility,
            spent=(records + trial.auxiliary_count) * len(members.probes),
        )

    async def _people(self, trial: PlannedTrial, people: PlannedPeople, model: PlannedModel) -> TrialResult:
        """An attack on people, judged by the teacher's own record of whose images it was trained on."""
        asked, before = await together(self._answers(names) for names in (people.probes, people.undefended))
        worth = await self._once.need(f"worth {people.users}", lambda: self._worth(model, people.users))
        job = trial.people_job(model, _by_chunk(asked), _by_chunk(before))
        found = await self._fit(trial, job)
        teacher = model.teacher or model
        record = orjson.loads(self._parties.models.get(f"{teacher.artifact}/training.json"))
        places, crowd = found["places"], job.span.data.crowd
        return judge_members(
            trial.result,
            found["scores"][:, 0],
            trained_on(record, job.span.stop)[places],
            utility={"honesty": Estimate(value=worth)},
            spent=people.count * (len(people.probes) + len(people.undefended)),
            person=None if crowd is None else places % crowd.asked,
        )

    async def _worth(self, model: PlannedModel, users: str) -> float:
        """How well a student service serves under one defence, for all trials that are judged beside it."""
        [used] = await self._answers([users])
        answers = [get_array(self._parties.releases, f"{name}.npy") for name in used]
        return served_right(model, np.concatenate(answers))

    async def _fitted(self, trial: PlannedTrial, job: FitJob) -> Inferred:
        """What the fleet's job says of the victims, now or earlier."""
        found = await self._fit(trial, job)
        return Inferred(found["predicted"], found["scores"])

    async def _fit(self, trial: PlannedTrial, job: FitJob) -> dict[str, NDArray[Any]]:
        """What the fleet's job gives, now or earlier."""
        identity = job.identity()
        await self._journal.expect([(identity, "fit", {"trial": trial.result.id})])
        if not whole(self._parties.releases, f"{identity}.npz"):
            async with self._fitting:
                await self._dispatch.run(job, f"fitting {trial.result.id}")
        await self._journal.job_done(identity, "fit", {}, message=f"fitted {trial.result.id}")
        return get_arrays(self._parties.releases, f"{identity}.npz")

    async def _handed_in(
        self, trial: PlannedTrial, model: PlannedModel, student: FitJob, outputs: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], Inferred]:
        """Decisions on the outputs (V, Y) of the ``student`` that the job trained, and what the provider read
        in them."""
        policy = self._policies[trial.result.defence]
        identity = digest(["student", student.identity(), policy.digest])
        name = f"{self._run}.student.{model.id}.{identity[:12]}"
        await self._journal.expect([(identity, "stream", {"trial": trial.result.id})])
        key = await self._accounts.key(
            name, policy=policy.name, budget=len(outputs), model=self._own.name(model), endpoints=[UPLOADS]
        )
        known = whole(self._parties.releases, f"{identity}.npz")
        if not known:
            assert student.student is not None
            try:
                async with self._sessions:
                    found = await hand_in(
                        self._parties.proxy,
                        self._parties.providers,
                        model,
                        served_as=self._own.name(model),
                        account=name,
                        key=key,
                        outputs=outputs,
                        spans=student.student.victims,
                        upload=self._own.upload(identity),
                    )
            except LeakrangeError as error:
                await self._journal.job_failed(identity, "stream", f"{trial.result.id}: {error.detail}")
                raise
            put_arrays(self._parties.releases, f"{identity}.npz", found)
        await self._journal.job_done(
            identity,
            "stream",
            {"key": None if known else name, "samples": len(outputs)},  # known: another run has paid for it
            message=f"{len(outputs)} outputs of the student of {trial.result.id}",
        )
        read = get_arrays(self._parties.releases, f"{identity}.npz")
        return read["decisions"], Inferred(read["inferred"], read["scores"])


def _by_chunk(draws: list[list[str]]) -> list[list[str]]:
    """From chunks per draw to draws per chunk."""
    return [list(chunk) for chunk in zip(*draws, strict=True)]
