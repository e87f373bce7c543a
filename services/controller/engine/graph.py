"""Carries out a run: every model, stream, probe and fit of its plan once, as soon as its inputs are there.

Stored results (of this run before a restart, or of an earlier run) are used again: results are stored
under content-addressed names, and every request that costs budget carries its identity.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from typing import Any

import structlog
from pydantic import ValidationError

from leakrange import tracing
from leakrange.attacks.kinds.cell import AskedStep
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.jobs.steps.craft import CraftJob
from leakrange.registry import unknown
from leakrange.scenario.plan import Plan, PlannedStream, PlannedTrial
from leakrange.scenario.stored_trial import Stored, StoredTrial
from leakrange.services.controller.engine.engine import Engine, hows, purpose_of
from leakrange.services.controller.engine.how.device import handed_in, streamed
from leakrange.services.controller.engine.how.fleet import (
    crafted,
    fitted,
    probed,
    ready,
    shown,
    stacks,
    train_work,
    trained,
)
from leakrange.services.controller.engine.how.offered import UnderLoad
from leakrange.services.controller.engine.how.replayed import replayed, replayed_sessions
from leakrange.services.controller.engine.judging import Judges
from leakrange.services.controller.range.answers import Answers, NotReached, needed
from leakrange.services.controller.range.journal import EndedTrial, Journal
from leakrange.services.controller.range.offers import Offers
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.together import together
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.engine import DatabaseAway
from leakrange.store.files import get_record
from leakrange.store.releases import StoredReleases
from leakrange.store.uploads import read_uploads
from leakrange.wire.errors import LeakrangeError, NotFound, StorageFull

AT_ONCE = 1000
"""The number of trials that are in memory: others begin when these are judged."""
UPLOADS = 250
"""The number of streams whose uploads are in memory, at least one for each seed."""
log = structlog.get_logger("leakrange.services.controller.graph")


class RunGraph:
    """The steps of one plan. Everything in it may be cancelled and begun again at any point."""

    def __init__(self, plan: Plan, parties: Parties, journal: Journal, settings: ControllerSettings) -> None:
        self._plan, self._journal = plan, journal
        self._engine = Engine(
            parties, journal, sessions=settings.sessions_at_once, probes=settings.probes_at_once
        )
        self._engine.stacks = stacks(each.recipe for each in plan.shadows)
        self._judges = Judges(settings.models_dir, settings.releases_dir)
        self._crafts = {job.identity(): job for job in plan.crafts}
        self._obfuscators = {each.artifact: each for each in plan.obfuscators}
        self._policies = {policy.defence: policy for policy in plan.policies}
        self._probes = {probe.id: probe for probe in plan.probes}
        self._uploads: OrderedDict[str, Uploaded] = OrderedDict()
        self.offers = Offers(plan.load)
        """The questions that wait for load users."""
        load = plan.load
        self._load = None if load is None else UnderLoad(self._engine, plan, load, self.offers)

    @property
    def under_way(self) -> set[str]:
        """Identities of the jobs that wait or run in the fleet, to be dropped when the run is cancelled."""
        return self._engine.under_way

    async def execute(self) -> None:
        """Carry out the plan. A trial that cannot be finished is recorded as failed, with the reason."""
        engine, plan = self._engine, self._plan
        engine.done = await self._journal.done_before()
        engine.sent = await self._journal.dispatched_before()
        await engine.accounts.begin()
        await engine.expect([train_work(engine, each) for each in plan.trained], look=False)
        for policy in plan.policies:
            await engine.parties.proxy.put_policy(policy.name, policy.chain.spec())
        self.offers.expect(
            name for trial in plan.trials for names in trial.needs.probes.values() for name in names
        )
        window = asyncio.Semaphore(AT_ONCE)
        try:
            async with asyncio.TaskGroup() as group:
                async for trial in self._journal.trials_left():
                    await window.acquire()
                    task = group.create_task(self._trial(trial))
                    task.add_done_callback(lambda _: window.release())
        finally:
            self._judges.close()
            await engine.once.end()
            await self._journal.written()  # before whoever cancels the run writes its end
        await engine.parties.fleet.cancel(engine.under_way)  # only a failed trial needed it
        await engine.accounts.close()

    async def _trial(self, trial: PlannedTrial) -> None:
        try:
            with tracing.span("trial", trial=trial.result.id):
                ended = await self._judged(trial)
        except StorageFull:
            raise  # what is paid for could not be kept: the run ends
        except DatabaseAway:
            raise  # nothing can be recorded: the run is begun again once it is back
        except NotReached as error:
            ended = _without_result(trial, "refused", error.detail)
        except LeakrangeError as error:
            await self._engine.accounts.check()  # which ends the run, and not this trial alone
            ended = _without_result(trial, "failed", error.detail)
        except ValidationError as error:
            # For instance a party of another version: its trials fail, and the others go on.
            log.error("an answer that cannot be read", trial=trial.result.id, exc_info=error)
            reason = f"a party's answer cannot be read: {error.error_count()} mistakes in {error.title}"
            ended = _without_result(trial, "failed", reason)
        await self._journal.trial(ended)

    async def _judged(self, planned: PlannedTrial) -> EndedTrial:
        """The end of a trial: first its needs are asked, then it is fitted, then judged."""
        engine, needs = self._engine, planned.needs
        trial = await self._asked(planned)
        await self._journal.trial_started(planned.result.id)
        policy = self._policies[planned.result.defence]
        await together(shown(engine, shadow, needs.shows) for shadow in trial.shadows)
        for role, step in needs.steps.items():
            trial.taken_steps[role] = await self._step(trial, step)
        jobs = trial.jobs()
        names = [
            planned.result.id if job.attack == planned.attack else f"{job.attack} beside {planned.result.id}"
            for job in jobs.values()
        ]
        purpose = purpose_of(trial.model, defence=policy.defence, trial=planned.result.id)
        results = await fitted(engine, jobs.values(), names, purpose)
        trial.results = dict(zip(jobs, results, strict=True))
        if needs.hands_in:
            trial.handed = await handed_in(engine, trial, policy, trial.fitted(needs.hands_in))
        return await self._judges.judged(trial)

    async def _step(self, trial: StoredTrial, asked: AskedStep) -> Any:
        how = hows.get(asked.step)
        if how is None:
            raise NotFound(unknown("a step that a trial can ask for", asked.step, hows))
        return await how(self._engine, trial, self._policies[trial.planned.result.defence], asked.parameters)

    async def _asked(self, planned: PlannedTrial) -> StoredTrial:
        """The trial, when every answer and every upload that it needs is stored."""
        engine, needs = self._engine, planned.needs
        for name in needs.shadows:  # while the target is asked
            engine.once.begin(f"early {name}", partial(trained, engine, self._plan.shadows_by_id[name]))
        answers: dict[str, Answers] = {}

        async def asked(name: str) -> list[str]:
            answers[name] = await engine.once.need(f"probe {name}", partial(self._probe, name))
            return answers[name].identities

        streams, undefended, _ = await together(
            [
                together(map(self._stream, needs.streams)),
                together(map(self._stream, needs.undefended)),
                together(asked(name) for names in needs.probes.values() for name in names),
            ]
        )
        answered = needed(answers, planned.samples)
        uploaded = None
        if needs.streams:
            uploaded = await self._uploaded(needs.streams[0], streams[0])
        probes = {role: [answered[name] for name in names] for role, names in needs.probes.items()}
        stored = Stored(streams, probes, uploaded, undefended)
        parties = engine.parties
        releases, record = StoredReleases(parties.releases), partial(get_record, parties.models)
        return StoredTrial(self._plan, planned, stored, releases, record)

    async def _stream(self, name: str) -> list[str]:
        async def carried_out() -> list[str]:
            stream = self._plan.streams_by_id[name]
            model, policy = self._plan.models_by_id[stream.model], self._policies[stream.defence]
            if stream.replays:
                undefended, heads = await self._stream(stream.replays), self._plan.heads(model)
                return await replayed_sessions(
                    self._engine, stream, model, policy, undefended, self._journal.truth, heads
                )
            files = await ready(self._engine, model, stream.local, self._obfuscators)
            return await streamed(self._engine, stream, model, policy, files)

        return await self._engine.once.need(f"stream {name}", carried_out)

    async def _probe(self, name: str) -> Answers:
        """The answers to a probe. In a run under load the fleet does only probes that ask nobody, or that use
        obfuscators of its own."""
        probe = self._probes[name]
        model, policy = self._plan.models_by_id[probe.model], self._policies[probe.defence]
        if probe.replays:
            first = partial(self._probe, probe.replays)
            undefended = await self._engine.once.need(f"probe {probe.replays}", first)
            return await replayed(self._engine, probe, model, policy, undefended, self._plan.heads(model))
        try:
            if probe.crafted:
                await self._craft(self._crafts[probe.crafted])
            files = await ready(self._engine, model, probe.local, self._obfuscators)
            if self._load is not None and probe.offered:
                return await self._load.probe(probe, model, policy)
            return await probed(self._engine, probe, model, policy, files)
        finally:
            self.offers.ended(name)

    async def _craft(self, job: CraftJob) -> None:
        against = {recipe.digest() for recipe in job.recipes}
        await crafted(self._engine, job, [each for each in self._plan.shadows if each.artifact in against])

    async def _uploaded(self, name: str, identities: list[str]) -> Uploaded:
        """A stream with everything known about it, read once for the trials that use it one after the
        other."""
        if name not in self._uploads:
            stream = self._plan.streams_by_id[name]
            read = partial(self._read_uploads, stream, identities)
            self._uploads[name] = await self._engine.once.need(f"uploaded {name}", read, kept=False)
        self._uploads.move_to_end(name)
        uploaded = self._uploads[name]
        while len(self._uploads) > UPLOADS:
            self._uploads.popitem(last=False)
        return uploaded

    async def _read_uploads(self, stream: PlannedStream, identities: list[str]) -> Uploaded:
        model = self._plan.models_by_id[stream.model]
        released = stream.released(model, self._policies[stream.defence])
        truths = [(await self._journal.truth(identity))[0] for identity in identities]
        heads = self._plan.heads(model)
        return read_uploads(identities, truths, released, heads, self._engine.parties.releases)


def _without_result(trial: PlannedTrial, state: str, reason: str) -> EndedTrial:
    return EndedTrial.of(trial.result.model_copy(update={"state": state, "error": reason}))
