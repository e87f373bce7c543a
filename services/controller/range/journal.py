"""Records the progress of a run: jobs, truths, trials and events, each change in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from leakrange.attacks.kinds import leakage_of
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.session import SessionReply
from leakrange.metrics.numbers import figure
from leakrange.scenario.plan import Plan
from leakrange.scenario.results import TrialResult
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.models import Models
from leakrange.store.runs import FINAL, Runs
from leakrange.store.tables import JobKind, now
from leakrange.store.trials import Ledger, Trials, Truths
from leakrange.wire.runs import State
from services.controller.range.news import News

ENDED = ("done", "refused")
"""States of trials that came to an end which says something of the attack."""

Truth = tuple[dict[str, list[int]], list[int]]
"""Labels per attribute, and the decisions that the users got."""


class Journal:
    """The record of one run."""

    def __init__(self, run: str, database: Database, news: News) -> None:
        self.run, self._database, self._news = run, database, news

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
                await Events(session).append(self.run, "run.running", {"message": "running"})
        self._news.announce(self.run)
        return True

    async def expect(self, jobs: list[tuple[str, JobKind, dict[str, Any]]]) -> None:
        """Record jobs (identity, kind, purpose) that the run is going to do."""
        async with self._database.write() as session:
            await Jobs(session).add(self.run, jobs)

    async def done_before(self) -> set[str]:
        """Identities of the jobs that this run has finished already."""
        async with self._database.read() as session:
            return {job.identity for job in await Jobs(session).of_run(self.run, states=["done"])}

    async def dispatched_before(self) -> set[str]:
        """Identities of all jobs that this run has ever sent to the fleet."""
        async with self._database.read() as session:
            return {job.identity for job in await Jobs(session).of_run(self.run) if job.attempts > 0}

    async def dispatch(self, identity: str) -> None:
        """Record that the job is sent to the fleet for this run."""
        async with self._database.write() as session:
            await Jobs(session).claim(self.run, identity)

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
    ) -> None:
        """Record the end of a job, with the truth that a session registered or the model that a training
        produced."""
        async with self._database.write() as session:
            if truth is not None:
                await Truths(session).add(self.run, identity, truth)
            if model is not None:
                await Models(session).add(*model)
            if await Jobs(session).finish(self.run, identity, result):
                data = {"kind": kind, "identity": identity, "message": message}
                await Events(session).append(self.run, "job.done", data)
        self._news.announce(self.run)

    async def job_failed(self, identity: str, kind: JobKind, error: str) -> None:
        """Record the failure of a job; the trials that need it fail as well."""
        async with self._database.write() as session:
            if await Jobs(session).fail(self.run, identity, error):
                data = {"kind": kind, "identity": identity, "message": error}
                await Events(session).append(self.run, "job.failed", data)
        self._news.announce(self.run)

    async def progress(self, identity: str, kind: JobKind, share: float, message: str) -> None:
        """Tell listeners that a ``share`` in [0, 1] of a job is done."""
        data = {"kind": kind, "identity": identity, "progress": round(share, 4), "message": message}
        await self._news.tell(self.run, "job.progress", data)

    async def truth(self, identity: str) -> Truth:
        """What was registered for one session of this run; raises `NotFound`."""
        async with self._database.read() as session:
            found = await Truths(session).get(self.run, identity)
        return found.labels, found.decisions

    async def trial(self, result: TrialResult) -> None:
        """Record the end of a trial: done, refused or failed."""
        async with self._database.write() as session:
            await Trials(session).put(self.run, result.id, result.model_dump(mode="json"))
            event = {
                "trial": result.id,
                "metrics": {name: found.value for name, found in result.metrics.items()},
                "message": result.error or f"{result.id}: {_found(result)}",
            }
            await Events(session).append(self.run, f"trial.{result.state}", event)
        self._news.announce(self.run)

    async def open_account(self, name: str, *, policy: str, budget: int) -> None:
        """Record an API key that may be used from now on, for ``budget`` samples."""
        async with self._database.write() as session:
            await Ledger(session).open(self.run, name, policy=policy, budget=budget)

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
            for job in await Jobs(session).of_run(self.run, states=["done"]):
                result = job.result or {}
                if result.get("key") is not None:
                    distinct[result["key"]] += result["samples"]
            for entry in await Ledger(session).of_run(self.run):
                entry.spent = spent.get(entry.name, max(entry.spent, distinct[entry.name]))
                entry.distinct, entry.seen = distinct[entry.name], now()

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
            state: State = "failed" if failed else "done"
            if await Runs(session).move(self.run, state, error=error):
                await Events(session).append(
                    self.run, "run.finished", {"state": state, "message": error or "done"}
                )
        self._news.announce(self.run)

    async def fail(self, error: str) -> None:
        """End the run as failed, for a reason outside its trials."""
        async with self._database.write() as session:
            if await Runs(session).move(self.run, "failed", error=error):
                await Jobs(session).cancel(self.run)
                await Trials(session).cancel(self.run)
                await Events(session).append(self.run, "run.finished", {"state": "failed", "message": error})
        self._news.announce(self.run)


def _found(result: TrialResult) -> str:
    metric = leakage_of(result.kind)
    return f"{metric.title} {figure(result.value(metric.name), metric.unit)}"
