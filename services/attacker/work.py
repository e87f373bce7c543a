"""The one way in which every job of the fleet is done: once, under a lease, stored before it is reported."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

import redis
import structlog

from leakrange.store.files import FolderStore
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.jobs import CANCEL, REPORTS, FitJob, JobReport, ProbeJob, TrainJob
from services.attacker.celery_app import celery_app, settings
from services.attacker.lease import Lease

__all__ = ["Cancelled", "Work", "fleet_task"]

log = structlog.get_logger("services.attacker")
KEPT_REPORTS = 100_000
J = TypeVar("J", TrainJob, ProbeJob, FitJob)


class Cancelled(LeakrangeError):
    """The controller wants this job no more."""

    slug, title = "cancelled", "Cancelled"


@lru_cache(maxsize=1)
def _redis() -> redis.Redis:
    """This process's connection; made after the fork, so that processes share no socket."""
    return redis.Redis.from_url(settings.redis_url, health_check_interval=10, retry_on_timeout=True)


@dataclass
class Work(Generic[J]):
    """What a job's function gets: the job, the stores, and a way to say how it gets on."""

    job: J
    identity: str
    kind: Literal["train", "probe", "fit"]
    models: FolderStore = field(default_factory=lambda: FolderStore(settings.models_dir))
    releases: FolderStore = field(default_factory=lambda: FolderStore(settings.releases_dir))
    stop: Callable[[], None] | None = None
    """Set by a function that can be stopped half-way: called when the job is cancelled."""

    def report(
        self,
        state: Literal["started", "progress", "done", "failed"],
        *,
        progress: float = 0.0,
        message: str = "",
        data: dict[str, Any] | None = None,
    ) -> None:
        """Tell the controller."""
        news = JobReport(
            identity=self.identity,
            kind=self.kind,
            state=state,
            worker=f"{socket.gethostname()}:{os.getpid()}",
            progress=progress,
            message=message,
            data=data or {},
        )
        _redis().xadd(REPORTS, {"json": news.model_dump_json()}, maxlen=KEPT_REPORTS, approximate=True)

    def cancelled(self) -> bool:
        """Whether the controller wants the job no more."""
        return bool(_redis().exists(CANCEL.format(identity=self.identity)))

    def stop_now(self) -> None:
        """Called from the lease's thread when the job is cancelled."""
        if self.stop is not None:
            self.stop()


Function = Callable[[Work[J]], dict[str, Any]]


def fleet_task(
    kind: Literal["train", "probe", "fit"], job_type: type[J], *, stored: Callable[[Work[J]], bool]
) -> Callable[[Function[J]], Function[J]]:
    """Make ``function`` the Celery task ``leakrange.<kind>`` on the queue of that name.

    The function does the job, stores its result under the job's identity, and gives what the report shall
    say. ``stored`` tells whether the result is there already. A job is reported exactly when it is over:
    done, failed (with the reason), or cancelled; a duplicate that finds another worker's lease ends silently,
    since that worker reports.
    """

    def decorate(function: Function[J]) -> Function[J]:
        def run(payload: dict[str, Any]) -> None:
            job = job_type.model_validate(payload)
            work = Work(job, job.identity(), kind)
            if stored(work):
                work.report("done", progress=1.0, data={"reused": True})
                return
            with Lease(_redis(), work.identity, work.stop_now) as held:
                if not held:
                    log.info("another worker is at this job", kind=kind, identity=work.identity)
                    return
                _carry_out(work, function, stored)

        celery_app.task(name=f"leakrange.{kind}", queue=kind)(run)
        return function

    return decorate


def _carry_out(work: Work[J], function: Function[J], stored: Callable[[Work[J]], bool]) -> None:
    if work.cancelled():
        work.report("failed", message="cancelled")
        return
    if stored(work):  # by the worker that held the lease until just now
        work.report("done", progress=1.0, data={"reused": True})
        return
    work.report("started")
    try:
        data = function(work)
    except LeakrangeError as error:
        hint = f" ({error.hint})" if error.hint else ""
        log.warning("job failed", kind=work.kind, identity=work.identity, error=error.detail)
        work.report("failed", message=f"{error.detail}{hint}")
    except Exception as error:
        # Nothing may leave a job unreported: the run would wait for it for ever. The log has the traceback.
        log.error("job failed", kind=work.kind, identity=work.identity, exc_info=error)
        work.report("failed", message=f"{type(error).__name__}: {error}")
    else:
        work.report("done", progress=1.0, data=data)
