"""Carries out one delivery of a job: done before, done now, failed, or postponed.

A job is delivered at least once, and its identity makes sure that it is done once. A delivery of a job
that another worker holds is dropped: if that worker dies, the controller sends the job again.
"""

from __future__ import annotations

import time
from typing import Any, cast

import redis
import structlog
from celery.exceptions import SoftTimeLimitExceeded
from pydantic import ValidationError

from leakrange.jobs.orders import CANCEL, ORDER, JobReport, Order
from leakrange.registry import UnknownName
from leakrange.services.attacker.lease import leased
from leakrange.services.attacker.memory import out_of_memory
from leakrange.services.attacker.metrics import JobMetrics, Outcome
from leakrange.services.attacker.reports import Reporter
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.attacker.task import Cancelled, FleetTask, JobContext
from leakrange.wire.calling import RETRIED, Tries
from leakrange.wire.errors import LeakrangeError

LONGEST_PAUSE = 4.0

log = structlog.get_logger("leakrange.attacker")


class Execution:
    """Executes deliveries in this process."""

    def __init__(self, settings: FleetSettings, client: redis.Redis, metrics: JobMetrics | None) -> None:
        self._settings, self._client, self._metrics = settings, client, metrics

    def handle(self, task: FleetTask, identity: str, worker: str) -> None:
        """Do what the order of that identity asks for, as the worker of that name."""
        begun = time.monotonic()
        outcome = self._handle(task, identity, worker)
        log.info("job ended", outcome=outcome, seconds=round(time.monotonic() - begun, 3))
        if self._metrics is not None:
            self._metrics.ended(task.step.name, outcome, begun)

    def _handle(self, task: FleetTask, identity: str, worker: str) -> Outcome:
        reporter = Reporter(self._client, identity, task.step.name, worker)
        context = JobContext(self._settings, reporter)
        with leased(self._client, identity, self._settings.lease_seconds, context.cancel) as ours:
            if not ours:
                log.info("another worker is at this job")
                return "left"
            stored = self._ordered(identity)
            if stored is None:
                return "left"  # the job was ended after the message was sent
            report = self._work(task, identity, stored, context, reporter)
            if report.state != "postponed":
                self._client.delete(ORDER.format(identity=identity))
        reporter.send(report)  # now another worker that gets the job again finds it free
        return _outcome(report)

    def _ordered(self, identity: str) -> bytes | None:
        return cast("bytes | None", self._client.get(ORDER.format(identity=identity)))

    def _work(
        self, task: FleetTask, identity: str, stored: bytes, context: JobContext, reporter: Reporter
    ) -> JobReport:
        """Carry the job out; return the report of its end, or that it has to be tried again."""
        try:
            order = Order.model_validate_json(stored)
        except ValidationError as error:
            reason = f"the worker cannot read the order, of another version than itself? {error}"
            return reporter.make("failed", reason)
        try:
            if task.stored(self._settings, identity):
                return reporter.make("done", reused=True)
            if self._client.exists(CANCEL.format(identity=identity)):
                return reporter.make("failed", "cancelled")
            reporter.send(reporter.make("started"))
            return reporter.make("done", **task.run(order.job, context))
        except Cancelled:
            return reporter.make("failed", "cancelled")
        except SoftTimeLimitExceeded:
            return reporter.make("failed", f"took longer than {task.seconds:.0f} s")
        except (LeakrangeError, ConnectionError) as error:
            if (again := self._again(error, identity, stored, order)) is None:
                message, data = _describe(error, order.attempt)
                return reporter.make("failed", message, **data)
            log.warning("postponed", error=str(error), **again)
            return reporter.make("postponed", **again)
        except (UnknownName, ValidationError) as error:
            return reporter.make("failed", str(error))
        except redis.RedisError:
            raise  # nothing can be reported either; the controller finds the job without a lease
        except Exception as error:
            log.error("job failed", exc_info=error)
            if (lacking := out_of_memory(error)) is not None:
                message, data = _describe(lacking, order.attempt)
                return reporter.make("failed", message, **data)
            return reporter.make("failed", f"{type(error).__name__}: {error}")

    def _again(self, error: Exception, identity: str, stored: bytes, order: Order) -> dict[str, Any] | None:
        """The data of a report that asks for another try, if that may help; else None."""
        newest = self._ordered(identity)
        if newest not in (None, stored):  # the proxy may have another address by now
            return {"seconds": self._settings.retry_pause, "attempt": 0}
        if not (isinstance(error, ConnectionError) or getattr(error, "status", None) in RETRIED):
            return None
        tries = Tries(order.attempt, order.until).after(error, self._settings.retries + 1)
        if tries is None:
            return None
        asked = getattr(error, "retry_after", None) or 0.0
        pause = min(LONGEST_PAUSE, max(asked, self._settings.retry_pause * 2.0**order.attempt))
        return {"seconds": pause, "attempt": tries.failed, "until": tries.until}


def _outcome(report: JobReport) -> Outcome:
    if report.state == "postponed":
        return "postponed"
    if report.state == "done":
        return "reused" if report.data.get("reused") else "done"
    return "cancelled" if report.message == "cancelled" else "failed"


def _describe(error: Exception, attempt: int) -> tuple[str, dict[str, Any]]:
    tried = f" (tried {attempt + 1} times)" if attempt else ""
    if not isinstance(error, LeakrangeError):
        return f"{type(error).__name__}: {error}{tried}", {}
    message = f"{error.detail}{tried}" + (f"; {error.hint}" if error.hint else "")
    return message, {"error": error.slug, "detail": error.detail, "hint": error.hint}
