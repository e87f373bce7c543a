"""Records the progress of a run: jobs, truths, trials and events, each change in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.attacks.kinds import leakage_of
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.session import SessionReply
from leakrange.metrics.numbers import figure
from leakrange.scenario.gains import gain, reached
from leakrange.scenario.plan import Plan
from leakrange.scenario.results import TrialResult
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.models import Models
from leakrange.store.runs import FINAL, Runs
from leakrange.store.tables import JobKind, now
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
from services.controller.range.news import News

ENDED = ("done", "refused")
"""States of trials that came to an end which says something of the attack."""

Truth = tuple[dict[str, list[int]], list[int]]
"""Labels per attribute, and the decisions that the users got."""


class Journal:
    """The record of one run."""

    def __init__(self, run: str, database: Database, news: News) -> None:
        self.run, self._database, self._news = run, database, news
        self._purposes: dict[str, dict[str, Any]] = {}

    async def _tell(self, session: AsyncSession, kind: str, event: RunEvent) -> None:
        await Events(session).append(self.run, kind, event.told())

    async def begin(self, plan: Plan) -> bool:
        """Mark the run as running and list its trials as queued. What failed before a restart will be
        tried again. Returns False, and changes nothing, where the run is over."""
        async with self._database.write() as session:
            runs = Runs(session)
            if (await runs.get(self.run)).state in FINAL:
                return False
            await Trials(session).add(
                self.run, [(trial.result.id, trial.result.model_dump(mode="json")) for trial in plan.trials]
            )
            jobs = Jobs(session)
            for job in await jobs.of_run(self.run, states=["failed"]):
                await jobs.retry(self.run, job.identity)
            if await runs.move(self.run, "running"):
                await self._tell(session, "run.running", RunRunning(message="running"))
        self._news.announce(self.run)
        return True

    async def expect(self, kind: JobKind, jobs: Mapping[str, Purpose]) -> None:
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

    async def dispatch(self, identity: str, kind: JobKind) -> None:
        """Record that the job begins for this run: that it is sent to the fleet, or asked of users."""
        async with self._database.write() as session:
            if await Jobs(session).claim(self.run, identity):
                await self._tell(session, "job.started", JobStarted(**self._job(identity, kind)))
        self._news.announce(self.run)

    def _job(self, identity: str, kind: JobKind) -> dict[str, Any]:
        return {"kind": kind, "identity": identity, **self._purposes.get(identity, {})}

    async def done_trials(self) -> set[str]:
        """Ids of the trials that already have a result, or were refused what they need."""
        async with self._database.read() as session:
            results = await Trials(session).of_run(self.run)
        return {str(result["id"]) for result in results if result["state"] in ENDED}

    async def job_done(
        self,
        identity: str,
        kind: JobKind,
        result: dict[str, Any],
        *,
        message: str,
        truth: SessionReply | None = None,
        model: tuple[TrainingRecipe, dict[str, Any]] | None = None,
        **told: Any,
    ) -> None:
        """Record the end of a job, with the truth that a session registered or the model that a training
        produced. ``told`` are further members of `JobDone`."""
        async with self._database.write() as session:
            if truth is not None:
                await Truths(session).add(self.run, identity, truth)
            if model is not None:
                await Models(session).add(*model)
            if await Jobs(session).finish(self.run, identity, result):
                done = JobDone(**self._job(identity, kind), message=message, **told)
                await self._tell(session, "job.done", done)
        self._news.announce(self.run)

    async def job_failed(self, identity: str, kind: JobKind, error: str) -> None:
        """Record the failure of a job; the trials that need it fail as well."""
        async with self._database.write() as session:
            if await Jobs(session).fail(self.run, identity, error):
                failed = JobFailed(**self._job(identity, kind), message=error)
                await self._tell(session, "job.failed", failed)
        self._news.announce(self.run)

    async def progress(
        self, identity: str, kind: JobKind, share: float, message: str, figures: Mapping[str, float]
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
        """What was registered for one session of this run; raises `NotFound`."""
        async with self._database.read() as session:
            found = await Truths(session).get(self.run, identity)
        return found.labels, found.decisions

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
        async with self._database.write() as session:
            await Jobs(session).cancel(self.run)
            results = await Trials(session).of_run(self.run)
            failed = [result for result in results if result["state"] not in ENDED]
            error = None
            if failed:
                error = f"{len(failed)} of {len(results)} trials failed; the first: {failed[0].get('error')}"
            state: Literal["done", "failed"] = "failed" if failed else "done"
            if await Runs(session).move(self.run, state, error=error):
                finished = RunFinished(state=state, message=error or "done")
                await self._tell(session, "run.finished", finished)
        self._news.announce(self.run)

    async def fail(self, error: str) -> None:
        """End the run as failed, for a reason outside its trials."""
        async with self._database.write() as session:
            if await Runs(session).move(self.run, "failed", error=error):
                await Jobs(session).cancel(self.run)
                await Trials(session).cancel(self.run)
                await self._tell(session, "run.finished", RunFinished(state="failed", message=error))
        self._news.announce(self.run)


def _ended(result: TrialResult) -> TrialEnded:
    far = reached([result])
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
        leakage=leakage_of(result.kind).name,
        gain=gain(result),
        beyond=far.mean,
        low=low,
        high=high,
        metrics={name: found.value for name, found in result.metrics.items()},
        message=result.error or f"{result.id}: {_found(result)}",
    )


def _found(result: TrialResult) -> str:
    metric = leakage_of(result.kind)
    return f"{metric.title} {figure(result.value(metric.name), metric.unit)}"
