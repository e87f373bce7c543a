"""Carries out one delivery of a job: done before, done now, failed, or postponed.

A job is delivered at least once, and its identity makes sure that it is done once. A delivery of a job
that another worker holds is dropped: if that worker dies, the job is sent again (see `lease`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import redis
import structlog
from celery.exceptions import SoftTimeLimitExceeded
from pydantic import ValidationError

from leakrange.registry import UnknownName
from leakrange.wire.calling import RETRIED, Tries
from leakrange.wire.errors import LeakrangeError
from services.attacker.lease import Leases, Message
from services.attacker.reports import Reporter
from services.attacker.settings import FleetSettings
from services.attacker.task import Cancelled, FleetTask, JobContext

__all__ = ["Execution"]

LONGEST_PAUSE = 4.0
MOST_STARTS = 5
"""A job that has killed so many workers is not given another."""

log = structlog.get_logger("leakrange.attacker")


class Execution:
    """Executes deliveries in this process."""

    def __init__(self, settings: FleetSettings, client: redis.Redis, leases: Leases) -> None:
        self._settings, self._client, self._leases = settings, client, leases

    def handle(self, task: FleetTask[Any], message: Message, worker: str) -> None:
        """Do what ``message`` asks for, as the worker of that name."""
        try:
            job = task.schema.model_validate(message.payload)
        except ValidationError as error:
            # Whoever sent it is of another version, and without a job there is no identity to report on.
            mistakes = error.errors(include_input=False, include_url=False)[:10]
            log.error("not a job", task=task.name, mistakes=mistakes)
            return
        identity = job.identity()
        message = self._leases.newest(identity, message)
        job = task.schema.model_validate(message.payload)
        reporter = Reporter(self._client, identity, task.kind, worker)
        if self._leases.settled(message.id):
            return
        if task.stored(self._settings, identity):
            reporter.done({"reused": True})
            return
        if self._leases.cancelled(identity):
            reporter.failed("cancelled")
            return
        lease = self._leases.take(identity, message)
        if lease is None:
            log.info("another worker is at this job", identity=identity, kind=task.kind)
            return
        context = JobContext(self._settings, reporter)
        with lease.beating(context.cancel):
            again = self._work(task, job, context, reporter, lease.starts, message)
        if again is None:
            lease.end()
        else:
            lease.pause(again.seconds, again.message)

    def _work(
        self,
        task: FleetTask[Any],
        job: Any,
        context: JobContext,
        reporter: Reporter,
        starts: int,
        message: Message,
    ) -> _Again | None:
        """Carry the job out and report its end; or how to try again."""
        reporter.started()
        try:
            if starts > MOST_STARTS:
                reporter.failed(f"given up: {starts - 1} workers died of it (out of memory?)")
            elif task.stored(self._settings, job.identity()):  # by another, between our look and our lease
                reporter.done({"reused": True})
            else:
                reporter.done(task.run(job, context))
        except Cancelled:
            reporter.failed("cancelled")
        except SoftTimeLimitExceeded:
            reporter.failed(f"took longer than {task.seconds:.0f} s")
        except (LeakrangeError, ConnectionError) as error:
            newest = self._leases.newest(job.identity(), message)
            if newest != message:
                return _Again(self._settings.retry_pause, newest)
            again = self._again(error, message) if _may_pass(error) else None
            if again is not None:
                log.warning("trying again", identity=job.identity(), seconds=again.seconds, error=str(error))
                return again
            reporter.failed(*_told(error, message.attempt))
        except (UnknownName, ValidationError) as error:
            reporter.failed(str(error))
        except redis.RedisError:
            raise  # nothing can be reported either; the lease runs out, and the job is sent again
        except Exception as error:
            log.error("job failed", identity=job.identity(), kind=task.kind, exc_info=error)
            reporter.failed(f"{type(error).__name__}: {error}")
        return None

    def _again(self, error: Exception, message: Message) -> _Again | None:
        tries = Tries(message.attempt, message.until).after(error, self._settings.retries + 1)
        if tries is None:
            return None
        asked = getattr(error, "retry_after", None) or 0.0
        pause = min(LONGEST_PAUSE, max(asked, self._settings.retry_pause * 2.0**message.attempt))
        return _Again(pause, replace(message, attempt=tries.failed, until=tries.until))


@dataclass(frozen=True)
class _Again:
    """The message by which to try again in so many seconds."""

    seconds: float
    message: Message


def _may_pass(error: Exception) -> bool:
    return isinstance(error, ConnectionError) or getattr(error, "status", None) in RETRIED


def _told(error: Exception, attempt: int) -> tuple[str, dict[str, Any]]:
    tried = f" (tried {attempt + 1} times)" if attempt else ""
    if not isinstance(error, LeakrangeError):
        return f"{type(error).__name__}: {error}{tried}", {}
    message = f"{error.detail}{tried}" + (f"; {error.hint}" if error.hint else "")
    return message, {"error": error.slug, "detail": error.detail, "hint": error.hint}
