"""Records the progress of a run: jobs, truths, trials and events, each change in one transaction."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.attacks.kinds import leakage_of
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.steps.stream import SessionReply
from leakrange.metrics.numbers import titled
from leakrange.scenario import labels
from leakrange.scenario.gains import gain, reached
from leakrange.scenario.plan import Plan
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.record import StepRecord
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.models import Models
from leakrange.store.runs import FINAL, RunStore
from leakrange.store.tables import RunRow, now
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
ENDED = ("done", "refused")
"""States of trials whose end says something about the attack."""

Truth = tuple[dict[str, list[int]], list[int]]
"""Labels per attribute, and the decisions that the users got."""


@dataclass(eq=False)
class _Change:
    """A job that begins or has ended with a ``result``, and the event that reports it."""

    identity: str
    result: dict[str, Any] | None
    kind: str
    event: dict[str, Any]
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
        """Mark the run as running and list its trials as queued. Trials that failed before a restart will be
        tried again. Returns False, and changes nothing, where the run is over."""
        async with self._database.write() as session:
            runs = RunStore(session)
            if (await runs.get(self.run)).state in FINAL:
                return False
            await Trials(session).add(
                self.run, [(trial.result.id, trial.result.model_dump(mode="json")) for trial in plan.trials]
            )
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
        rows = [(identity, kind, purpose) for identity, purpose in purposes.items()]
        async with self._database.write() as session:
            if new := await Jobs(session).add(self.run, rows):
                await self._tell(session, "jobs.expected", JobsExpected(kind=kind, count=new))
        self._news.announce(self.run)

    async def done_before(self) -> set[str]:
        """Identities of the jobs that this run has finished already."""
        async with self._database.read() as session:
            return {job.identity for job in await Jobs(session).of_run(self.run, states=["done"])}

    async def dispatched_before(self) -> set[str]:
        """Identities of all jobs that this run has ever sent to the fleet."""
        async with self._database.read() as session:
            return {job.identity for job in await Jobs(session).of_run(self.run) if job.attempts > 0}

    async def dispatch(self, identity: str, kind: str) -> None:
        """Record that the job begins for this run: that it is sent to the fleet, or asked of users."""
        started = JobStarted(**self._job(identity, kind))
        await self._change(_Change(identity, None, "job.started", started.told()))

    async def _change(self, change: _Change) -> None:
        """Have the state of a job changed, in one transaction with all others that wait for it: a run of many
        chunks would spend most of its time in transactions."""
        self._waiting.append(change)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await asyncio.shield(change.written)

    async def _write(self) -> None:
        while self._waiting:
            # One change for each job: whether the next changes anything depends on it.
            first: dict[str, _Change] = {}
            for each in self._waiting[:AT_ONCE]:
                first.setdefault(each.identity, each)
            batch = list(first.values())
            taken = set(batch)
            self._waiting = [each for each in self._waiting if each not in taken]
            claimed = {each.identity for each in batch if each.result is None}
            finished = {each.identity: each.result for each in batch if each.result is not None}
            try:
                async with self._database.write() as session:
                    moved = await Jobs(session).move_all(self.run, claimed, finished)
                    events = [(each.kind, each.event) for each in batch if each.identity in moved]
                    await Events(session).append_all(self.run, events)
            except Exception as error:  # the error is that of all who wait
                for each in batch:
                    each.written.set_exception(error)
            else:
                for each in batch:
                    each.written.set_result(None)
            self._news.announce(self.run)

    async def written(self) -> None:
        """Wait until everything is written that somebody had begun to record."""
        if self._writer is not None:
            await asyncio.wait([self._writer])

    def _job(self, identity: str, kind: str) -> dict[str, Any]:
        return {"kind": kind, "identity": identity, **self._purposes.get(identity, {})}

    async def done_trials(self) -> set[str]:
        """Ids of the trials that already have a result, or were refused what they need."""
        async with self._database.read() as session:
            results = await Trials(session).of_run(self.run)
        return {str(result["id"]) for result in results if result["state"] in ENDED}

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
        if truth is None and model is None:
            await self._change(_Change(identity, result, "job.done", done.told()))
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
        await self._news.tell(self.run, "trial.started", TrialStarted(trial=trial).told())

    async def truth(self, identity: str) -> Truth:
        """The truth that was registered for one session of this run; raises `NotFound`."""
        async with self._database.read() as session:
            truth = await Truths(session).get(self.run, identity)
        return truth.labels, truth.decisions

    async def trial(self, result: TrialResult) -> None:
        """Record the end of a trial: done, refused or failed."""
        async with self._database.write() as session:
            await Trials(session).put(self.run, result.id, result.model_dump(mode="json"))
            await self._tell(session, f"trial.{result.state}", _ended(result))
        self._news.trials.labels(result.state).inc()
        self._news.announce(self.run)

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
            distinct: Counter[str] = Counter()
            settled: dict[str, int] = {}
            for job in await Jobs(session).of_run(self.run, states=["done"]):
                result = job.result or {}
                if result.get("key") is not None:
                    distinct[result["key"]] += result["samples"]
            for entry in await Ledger(session).of_run(self.run):
                entry.spent = spent.get(entry.name, max(entry.spent, distinct[entry.name]))
                entry.distinct, entry.seen = distinct[entry.name], now()
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
            results = await Trials(session).of_run(self.run)
            failed = [result for result in results if result["state"] not in ENDED]
            error = None
            if failed:
                error = f"{len(failed)} of {len(results)} trials failed; the first: {failed[0].get('error')}"
            state: Literal["done", "failed"] = "failed" if failed else "done"
            if await RunStore(session).move(self.run, state, error=error, leak=leak):
                finished = RunFinished(state=state, message=error or STATES["done"])
                await self._tell(session, "run.finished", finished)
        self._news.announce(self.run)

    async def _worst_leak(self) -> dict[str, Any] | None:
        """The worst leak of the trials that are over; None where nothing has a grade."""
        async with self._database.read() as session:
            run = await RunStore(session).get(self.run)
            trials = await Trials(session).of_run(self.run)
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
