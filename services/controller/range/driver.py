"""Carries out a run: every model, stream, probe and fit of its plan once, as soon as its inputs are there.

Stored results (of this run before a restart, or of an earlier run) are used again: results are stored
under content-addressed names, and every request that costs budget carries its identity.
"""

from __future__ import annotations

import asyncio
from functools import partial

import structlog
from pydantic import ValidationError

from leakrange import tracing
from leakrange.attacks import attacks
from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.scenario.plan import Plan, PlannedStream, PlannedTrial
from leakrange.scenario.results import TrialResult
from leakrange.scenario.stored_trial import Stored
from leakrange.store.engine import DatabaseAway
from leakrange.store.uploads import read_uploads
from leakrange.wire.errors import LeakrangeError, StorageFull
from services.controller.range.answers import Answers, NotReached, needed
from services.controller.range.asking import Asking
from services.controller.range.context import RunContext
from services.controller.range.journal import Journal
from services.controller.range.models import of_model
from services.controller.range.offers import Offers
from services.controller.range.parties import Parties
from services.controller.range.together import together
from services.controller.range.trial import ReadyTrial
from services.controller.settings import ControllerSettings

log = structlog.get_logger("services.controller.driver")


class Driver:
    """Executes one plan. Everything in it may be cancelled and begun again at any point."""

    def __init__(
        self, run: str, plan: Plan, parties: Parties, journal: Journal, settings: ControllerSettings
    ) -> None:
        self._context = RunContext(run, plan, parties, journal, settings)
        self._asking = Asking(self._context)

    @property
    def in_fleet(self) -> set[str]:
        """Identities of the jobs that wait or run in the fleet, to be dropped when the run is cancelled."""
        return self._context.dispatch.in_fleet

    @property
    def offers(self) -> Offers:
        """What waits for load users."""
        return self._context.offers

    async def execute(self) -> None:
        """Carry out the plan. A trial that cannot be finished is recorded as failed, with the reason."""
        context, plan = self._context, self._context.plan
        context.done = await context.journal.done_before()
        context.dispatch.sent = await context.journal.dispatched_before()
        await context.accounts.begin()
        judged = await context.journal.done_trials()
        await context.journal.expect("train", {each.artifact: of_model(each) for each in plan.trained})
        for policy in plan.policies:
            await context.parties.proxy.put_policy(policy.name, policy.chain)
        left = [trial for trial in plan.trials if trial.result.id not in judged]
        context.offers.expect(
            name for trial in left for names in trial.needs.probes.values() for name in names
        )
        try:
            async with asyncio.TaskGroup() as group:
                for trial in left:
                    group.create_task(self._trial(trial))
        finally:
            await context.once.end()
        await context.dispatch.drop()
        await context.accounts.close()

    async def _trial(self, trial: PlannedTrial) -> None:
        try:
            with tracing.span("trial", trial=trial.result.id):
                result = await self._judged(trial)
        except StorageFull:
            raise  # what is paid for could not be kept: the run ends
        except DatabaseAway:
            raise  # nothing can be recorded: the run is begun again once it is back
        except NotReached as error:
            result = trial.result.model_copy(update={"state": "refused", "error": error.detail})
        except LeakrangeError as error:
            await self._context.accounts.check()  # which ends the run, and not this trial alone
            result = trial.result.model_copy(update={"state": "failed", "error": error.detail})
        except ValidationError as error:
            # A party of another version, say: its trials fail, and the others go on.
            log.error("an answer that cannot be read", trial=trial.result.id, exc_info=error)
            reason = f"a party's answer cannot be read: {error.error_count()} mistakes in {error.title}"
            result = trial.result.model_copy(update={"state": "failed", "error": reason})
        await self._context.journal.trial(result)

    async def _judged(self, trial: PlannedTrial) -> TrialResult:
        ready = await self._ready(trial)
        await self._context.journal.trial_started(trial.result.id)
        return trial.judged(await kind_of(attacks[trial.attack]).judge(ready))

    async def _ready(self, trial: PlannedTrial) -> ReadyTrial:
        """The trial with everything that it needs."""
        context, needs = self._context, trial.needs
        for name in needs.shadows:  # while the target is asked
            context.own.begin(context.shadows[name])
        answers: dict[str, Answers] = {}

        async def asked(name: str) -> list[str]:
            answers[name] = await self._probe(name)
            return answers[name].identities

        streams, undefended, _ = await together(
            [
                together(map(self._stream, needs.streams)),
                together(map(self._stream, needs.undefended)),
                together(asked(name) for own in needs.probes.values() for name in own),
            ]
        )
        answered = needed(answers, trial.samples)
        uploaded = None
        if needs.streams:
            first = needs.streams[0]
            uploaded = await context.once.need(
                f"uploaded {first}", partial(self._uploaded, context.streams[first], streams[0])
            )
        probes = {role: [answered[name] for name in own] for role, own in needs.probes.items()}
        return ReadyTrial(context, trial, Stored(streams, probes, uploaded, undefended))

    async def _stream(self, name: str) -> list[str]:
        stream = self._context.streams[name]
        return await self._context.once.need(f"stream {name}", partial(self._asking.stream, stream))

    async def _probe(self, name: str) -> Answers:
        probe = self._context.probes[name]
        return await self._context.once.need(f"probe {name}", partial(self._asking.probe, probe))

    async def _uploaded(self, stream: PlannedStream, identities: list[str]) -> Uploaded:
        """A stream with everything known about it, read once for all the trials that use it."""
        context = self._context
        model = context.models[stream.model]
        released = stream.released(model, context.policies[stream.defence])
        heads = context.plan.heads(model)
        truths = [(await context.journal.truth(identity))[0] for identity in identities]
        return read_uploads(identities, truths, released, heads, context.parties.releases)
