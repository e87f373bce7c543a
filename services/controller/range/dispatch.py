"""Sends a run's jobs to the fleet and waits for them. Each is recorded first, so that a restarted
controller knows it."""

from __future__ import annotations

from collections.abc import Callable

from leakrange import tracing
from leakrange.jobs.job import AuditJob, FitJob, JobReport, ProbeJob, TrainJob
from leakrange.store.engine import DatabaseAway
from leakrange.wire.errors import LeakrangeError
from services.controller.range.fleet import Fleet
from services.controller.range.journal import Journal
from services.controller.range.together import being_cancelled


class Dispatch:
    """``sent`` are identities of the jobs that the run has sent, now or before a restart. ``in_fleet`` are
    those that wait or run there; they are dropped when the run is cancelled."""

    def __init__(self, fleet: Fleet, journal: Journal) -> None:
        self._fleet, self._journal = fleet, journal
        self.sent: set[str] = set()
        self.in_fleet: set[str] = set()

    async def run(
        self,
        job: TrainJob | ProbeJob | FitJob | AuditJob,
        what: str,
        watch: Callable[[JobReport], None] | None = None,
    ) -> JobReport:
        """The job's last report; ``watch`` gets all of them. Where the job fails, records the failure for
        ``what`` and raises it."""
        identity = job.identity()
        self.in_fleet.add(identity)

        async def dispatch() -> None:
            await self._journal.dispatch(identity, job.kind)
            self.sent.add(identity)

        try:
            with tracing.span(f"{job.kind} job", run=self._journal.run, identity=identity):
                return await self._fleet.run(job, watch, run=self._journal.run, before_sending=dispatch)
        except DatabaseAway:
            raise  # the job has not failed
        except LeakrangeError as error:
            await self._journal.job_failed(identity, job.kind, f"{what}: {error.detail}")
            raise
        finally:
            if not being_cancelled():
                self.in_fleet.discard(identity)

    async def drop(self) -> None:
        """Cancel the jobs that only a failed trial needed."""
        await self._fleet.cancel(self.in_fleet)
