"""Records the progress of a run: jobs, truths, trials and events, each change in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.attacks.kinds import leakage_of
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.steps.fit import FIT
from leakrange.jobs.steps.stream import SessionReply
from leakrange.metrics.numbers import titled
from leakrange.scenario import labels
from leakrange.scenario.bounds import MAX_AT_ONCE
from leakrange.scenario.gains import gain, reached
from leakrange.scenario.plan import Plan, PlannedTrial
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.record import StepRecord
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.models import Models
from leakrange.store.runs import FINAL, RunStore
from leakrange.store.tables import JobRow, RunRow, now
from leakrange.store.trials import Ledger, Trials, Truths
from leakrange.wire.events import (
    AccountOpened,
    AccountsSettled,
    Holder,
    JobDone,
    JobFailed,
    JobProgress,
    JobsExpected,
    JobStarted,
    ModelServed,
    Purpose,
    RunEvent,
    RunFinished,
    RunRunning,
    TrialEnded,
    TrialStarted,
)
from leakrange.wire.runs import STATES

log = structlog.get_logger("leakrange.services.controller.journal")
AT_ONCE = 500
"""The largest number of changes of one transaction."""
A_PAGE = 200
"""The number of planned trials that are read together."""
ENDED = ("done", "refused")
"""States of trials whose end says something about the attack."""

Truth = tuple[dict[str, list[int]], list[int]]
"""Labels per attribute, and the decisions that the users got."""


class EndedTrial(NamedTuple):
    """A trial that is over, as it is recorded: its ``result``, the ``value`` of its main metric, and the
    event that tells listeners."""

    id: str
    state: str
    result: dict[str, Any]
    value: float | None
    event: dict[str, Any]

    @classmethod
    def of(cls, result: TrialResult) -> EndedTrial:
        """What is recorded of a result."""
        value = result.value(leakage_of(result.kind).name)
        return cls(result.id, result.state, result.model_dump(mode="json"), value, _ended(result).told())


@dataclass(eq=False)
class _Change:
    """An event, and what it reports: a job that begins, or has ended with a ``result``; a ``trial`` that has
    ended. In place of an event: jobs that are ``expected``, with their purposes."""

    kind: str
    event: dict[str, Any] | None = None
    identity: str = ""
    result: dict[str, Any] | None = None
    trial: EndedTrial | None = None
    expected: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    written: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Journal(StepRecord):
    """The record of one run."""

    def __init__(self, run: str, database: Database, news: News) -> None:
        super().__init__(run)
        self._database, self._news = database, news
        self._purposes: dict[str, dict[str, Any]] = {}
        self._waiting: list[_Change] = []
        self._writer: asyncio.Task[None] | None = None

    async def _tell(self, session: AsyncSession, kind: str, event: RunEvent) -> None:
        await Events(session).append(self.run, kind, event.told())

    async def begin(self, plan: Plan) -> bool:
        """Mark the run as running. Trials that failed before a restart will be tried again. Returns
        False, and changes nothing, where the run is over."""
        async with self._database.write() as session:
            runs = RunStore(session)
            if (await runs.get(self.run)).state in FINAL:
                return False
            jobs = Jobs(session)
            for job in await jobs.of_run(self.run, states=["failed"]):
                await jobs.retry(self.run, job.identity)
            if await runs.move(self.run, "running"):
                await self._tell(session, "run.running", RunRunning(message="running", steps=plan.steps()))
        self._news.announce(self.run)
        return True

    async def expect(self, kind: str, jobs: Mapping[str, Purpose]) -> None:
        """Record jobs of a kind, by identity, that the run is going to do."""
        purposes = {identity: purpose.told() for identity, purpose in jobs.items()}
        self._purposes |= purposes
        await self._change(_Change(kind, expected=purposes))

    async def done_before(self) -> set[str]:
        """Identities of the jobs that this run has finished already, but for fits: each trial has one."""
        async with self._database.read() as session:
            return await Jobs(session).identities(self.run, JobRow.kind != FIT.name, JobRow.state == "done")

    async def dispatched_before(self) -> set[str]:
        """Identities of all jobs but fits that this run has ever sent to the fleet."""
        async with self._database.read() as session:
            return await Jobs(session).identities(self.run, JobRow.kind != FIT.name, JobRow.attempts > 0)

    async def dispatch(self, identity: str, kind: str) -> None:
        """Record that the job begins for this run: that it is sent to the fleet, or asked of users."""
        started = JobStarted(**self._job(identity, kind))
        await self._change(_Change("job.started", started.told(), identity))

    async def _change(self, change: _Change) -> None:
        """Have something recorded, in one transaction with all else that waits for it: a run of many chunks
        or trials would spend most of its time in transactions."""
        self._waiting.append(change)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await asyncio.shield(change.written)

    async def _write(self) -> None:
        while self._waiting:
            # One change for each job: whether the next changes anything depends on it.
            first: dict[str | _Change, _Change] = {}
            for each in self._waiting[:AT_ONCE]:
                first.setdefault(each.identity or each, each)
            batch = list(first.values())
            taken = set(batch)
            self._waiting = [each for each in self._waiting if each not in taken]
            try:
                async with self._database.write() as session:
                    await self._record(session, batch)
            except Exception as error:  # the error is that of all who wait
                for each in batch:
                    each.written.set_exception(error)
                    each.written.exception()  # as if it was retrieved: who waited may have been cancelled
            else:
                for each in batch:
                    each.written.set_result(None)
            self._news.announce(self.run)

    async def _record(self, session: AsyncSession, batch: list[_Change]) -> None:
        expected: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
        for each in batch:
            rows = [(identity, each.kind, purpose) for identity, purpose in each.expected.items()]
            expected.setdefault(each.kind, []).extend(rows)
        for kind, of_kind in expected.items():
            if new := await Jobs(session).add(self.run, of_kind):
                await self._tell(session, "jobs.expected", JobsExpected(kind=kind, count=new))
        jobs = [each for each in batch if each.identity]
        claimed = {each.identity for each in jobs if each.result is None}
        finished = {each.identity: each.result for each in jobs if each.result is not None}
        moved = await Jobs(session).move_all(self.run, claimed, finished) if jobs else set()
        trials = [each.trial for each in batch if each.trial is not None]
        if trials:
            await Trials(session).put(self.run, {each.id: (each.result, each.value) for each in trials})
        told = [each for each in batch if not each.identity or each.identity in moved]
        events = [(each.kind, each.event) for each in told if each.event is not None]
        await Events(session).append_all(self.run, events)

    async def written(self) -> None:
        """Wait until everything is written that somebody had begun to record."""
        if self._writer is not None:
            await asyncio.wait([self._writer])

    def _job(self, identity: str, kind: str) -> dict[str, Any]:
        return {"kind": kind, "identity": identity, **self._purposes.get(identity, {})}

    async def trials_left(self) -> AsyncIterator[PlannedTrial]:
        """The trials that have no result yet, and were not refused what they need, in the order of the
        matrix; never many of them at once. Raises `Conflict` if another version planned them."""
        after = 0
        while True:
            async with self._database.read() as session:
                page = await Trials(session).planned(self.run, but=ENDED, after=after, limit=A_PAGE)
            if not page:
                return
            for place, planned in page:
                yield PlannedTrial.stored(planned)
                after = place

    async def job_done(
        self,
        identity: str,
        kind: str,
        result: dict[str, Any],
        *,
        message: str,
        truth: SessionReply | None = None,
        model: tuple[TrainingRecipe, dict[str, Any]] | None = None,
        **members: Any,
    ) -> None:
        """Record the end of a job, with the truth that a session registered or the model that a training
        produced. ``members`` are further members of `JobDone`."""
        done = JobDone(**self._job(identity, kind), message=message, **members)
        self._purposes.pop(identity, None)
        if truth is None and model is None:
            await self._change(_Change("job.done", done.told(), identity, result))
            return
        async with self._database.write() as session:
            if truth is not None:
                await Truths(session).add(self.run, identity, truth)
            if model is not None:
                await Models(session).add(*model)
            if await Jobs(session).finish(self.run, identity, result):
                await self._tell(session, "job.done", done)
        self._news.announce(self.run)

    async def job_failed(self, identity: str, kind: str, error: str) -> None:
        """Record the failure of a job; the trials that need it fail as well."""
        async with self._database.write() as session:
            if await Jobs(session).fail(self.run, identity, error):
                failed = JobFailed(**self._job(identity, kind), message=error)
                await self._tell(session, "job.failed", failed)
        self._news.announce(self.run)

    async def progress(
        self, identity: str, kind: str, share: float, message: str, figures: Mapping[str, float]
    ) -> None:
        """Tell listeners that a ``share`` in [0, 1] of a job is done, with the ``figures`` so far."""
        job = self._job(identity, kind)
        event = JobProgress(**job, progress=round(share, 4), message=message, figures=dict(figures))
        await self._news.tell(self.run, "job.progress", event.told())

    async def served(self, purpose: Purpose) -> None:
        """Tell listeners that a model can be asked."""
        await self._news.tell(self.run, "model.served", ModelServed(**purpose.told()).told())

    async def trial_started(self, trial: str) -> None:
        """Tell listeners that a trial has all that it needs."""
        await self._change(_Change("trial.started", TrialStarted(trial=trial).told()))

    async def truth(self, identity: str) -> Truth:
        """The truth that was registered for one session of this run; raises `NotFound`."""
        async with self._database.read() as session:
            truth = await Truths(session).get(self.run, identity)
        return truth.labels, truth.decisions

    async def trial(self, ended: EndedTrial) -> None:
        """Record the end of a trial: done, refused or failed."""
        await self._change(_Change(f"trial.{ended.state}", ended.event, trial=ended))
        self._news.trials.labels(ended.state).inc()

    async def open_account(
        self, name: str, *, policy: str, budget: int, holder: Holder, purpose: Purpose
    ) -> None:
        """Record an API key that its ``holder`` may use from now on, for ``budget`` samples."""
        about = purpose.told() | {"key": name, "budget": budget, "holder": holder}
        async with self._database.write() as session:
            if await Ledger(session).open(self.run, name, policy=policy, budget=budget):
                await self._tell(session, "account.opened", AccountOpened(**about))
        self._news.announce(self.run)

    async def accounts(self) -> list[str]:
        """The names of all API keys of the run, including those from before a restart."""
        async with self._database.read() as session:
            return [entry.name for entry in await Ledger(session).of_run(self.run)]

    async def settle_accounts(self, spent: Mapping[str, int]) -> None:
        """Store what each API key of the run has ``spent``, in samples, and how many distinct samples the
        run received for it in its finished jobs.

        A key that is missing in ``spent`` keeps the last known figure, or the number of samples that the
        run received for it: it has paid at least that.
        """
        async with self._database.write() as session:
            distinct, settled = await Jobs(session).paid(self.run), dict[str, int]()
            for entry in await Ledger(session).of_run(self.run):
                samples = distinct.get(entry.name, 0)
                entry.spent = spent.get(entry.name, max(entry.spent, samples))
                entry.distinct, entry.seen = samples, now()
                settled[entry.name] = entry.spent
            if settled:
                await self._tell(session, "accounts.settled", AccountsSettled(spent=settled))
        self._news.announce(self.run)

    async def finish(self) -> None:
        """End the run, as failed if any trial has failed. Jobs that are still open are not needed by any
        trial."""
        leak = await self._worst_leak()
        async with self._database.write() as session:
            await Jobs(session).cancel(self.run)
            states = (await Trials(session).tally([self.run]))[self.run]
            failed, error = sum(states.values()) - sum(states.get(each, 0) for each in ENDED), None
            if failed:
                first = await Trials(session).first_error(self.run, *ENDED)
                error = f"{failed} of {sum(states.values())} trials failed; the first: {first}"
            state: Literal["done", "failed"] = "failed" if failed else "done"
            if await RunStore(session).move(self.run, state, error=error, leak=leak):
                finished = RunFinished(state=state, message=error or STATES["done"])
                await self._tell(session, "run.finished", finished)
        self._news.announce(self.run)

    async def _worst_leak(self) -> dict[str, Any] | None:
        """The worst leak of the trials that are over; None where nothing has a grade, or too many trials
        have one."""
        async with self._database.read() as session:
            run = await RunStore(session).get(self.run)
            cells = await Trials(session).at_largest_budgets(self.run)
            if sum(cells.values()) > MAX_AT_ONCE:
                return None
            trials = await Trials(session).of_cells(self.run, cells)
        try:
            return await asyncio.to_thread(_worst_leak, run, trials)
        except Exception as error:  # a run that is over stays so, whatever a list cannot say of it
            log.error("the worst leak of a run cannot be told", run=self.run, exc_info=error)
            return None

    async def fail(self, error: str) -> None:
        """End the run as failed, for a reason outside its trials."""
        async with self._database.write() as session:
            if await RunStore(session).move(self.run, "failed", error=error):
                await Jobs(session).cancel(self.run)
                await Trials(session).cancel(self.run)
                await self._tell(session, "run.finished", RunFinished(state="failed", message=error))
        self._news.announce(self.run)


def _worst_leak(run: RunRow, trials: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    from leakrange.report.findings import find  # whose package takes long to import
    from leakrange.report.worst import worst_leak

    results = RunResults(
        run=run.id,
        name=run.name,
        state=run.state,
        created=run.created.isoformat(),
        finished=None,
        scenario_yaml="",
        scenario=run.scenario,
        environment={},
        trials=[TrialResult.model_validate(each | {"views": {}}) for each in trials],
        models=[],
    )
    worst = worst_leak(find(results))
    return None if worst is None else worst.model_dump()


def _ended(result: TrialResult) -> TrialEnded:
    far, metric = reached([result]), leakage_of(result.kind)
    low, high = (None, None) if far.beyond is None else far.beyond.within()
    return TrialEnded(
        trial=result.id,
        provider=result.provider,
        behaviour=result.behaviour,
        defence=result.defence,
        attack=result.attack,
        knowledge=result.knowledge,
        budget=result.budget,
        seed=result.seed,
        leakage=metric.name,
        gain=gain(result),
        beyond=far.mean,
        low=low,
        high=high,
        metrics={name: estimate.value for name, estimate in result.metrics.items()},
        message=result.error or f"{labels.trial(result)}: {titled(metric, result.value(metric.name))}",
    )
