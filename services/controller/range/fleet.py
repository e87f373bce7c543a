"""Jobs to the Celery fleet, and their reports back.

The fleet's jobs are idempotent by identity, so this side may send one again whenever it is in doubt: after a
restart of the controller, and when a job that was started has no lease any more (its worker died) and no
report of its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import redis.asyncio as aioredis
import structlog
from celery import Celery
from pydantic import ValidationError
from redis.exceptions import RedisError

from leakrange.wire.errors import LeakrangeError
from leakrange.wire.jobs import CANCEL, LEASE, REPORTS, FitJob, JobReport, ProbeJob, TrainJob

__all__ = ["Fleet", "JobFailed"]

log = structlog.get_logger("services.controller.fleet")
REAP_EVERY = 2.0
ORPHANED_AFTER = 3.0
"""Seconds without a lease before a started job is sent again: longer than one heartbeat, shorter than the
visibility timeout.
"""

OnReport = Callable[[JobReport], None]


class JobFailed(LeakrangeError):
    """A job of the fleet failed for good; ``detail`` is the worker's own message."""

    slug, title = "job-failed", "A job of the fleet failed"


@dataclass
class _Pending:
    job: TrainJob | ProbeJob | FitJob
    done: asyncio.Future[JobReport]
    watchers: list[OnReport] = field(default_factory=list)
    waiters: int = 0
    started: bool = False
    orphaned_at: float | None = None


class Fleet:
    """Sends jobs, waits for them, and sends them again when their worker died. One per controller."""

    def __init__(self, redis_url: str) -> None:
        self._redis = aioredis.Redis.from_url(redis_url, decode_responses=True)
        self._celery = Celery("leakrange", broker=redis_url)
        self._celery.conf.update(
            task_serializer="json", broker_connection_retry_on_startup=True, task_ignore_result=True
        )
        self._pending: dict[str, _Pending] = {}
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to listen: from now on, since every job in doubt is sent again after this."""
        position = await self._newest()
        self._loops = [asyncio.create_task(self._listen(position)), asyncio.create_task(self._reap())]

    async def stop(self) -> None:
        """Stop listening; jobs that are under way in the fleet go on there."""
        for loop in self._loops:
            loop.cancel()
        for loop in self._loops:
            with contextlib.suppress(asyncio.CancelledError):
                await loop
        for pending in self._pending.values():
            pending.done.cancel()
        await self._redis.aclose()
        await asyncio.to_thread(self._celery.close)

    async def ping(self) -> None:
        """Raise where Redis does not answer."""
        try:
            await self._redis.ping()
        except RedisError as error:
            raise OSError(f"Redis does not answer: {error}") from error

    async def run(self, job: TrainJob | ProbeJob | FitJob, watch: OnReport | None = None) -> JobReport:
        """Have the fleet do ``job`` and wait for its end; callers of the same identity share one job.

        ``watch`` is called with every report. Raises `JobFailed`. Cancelling the caller leaves the job in the
        fleet; see `cancel`.
        """
        identity = job.identity()
        pending = self._pending.get(identity)
        if pending is None:
            pending = _Pending(job, asyncio.get_running_loop().create_future())
            self._pending[identity] = pending
            await self._send(job)
        if watch is not None:
            pending.watchers.append(watch)
        pending.waiters += 1
        try:
            report = await asyncio.shield(pending.done)
        finally:
            pending.waiters -= 1
            if watch is not None:
                pending.watchers.remove(watch)
        if report.state == "failed":
            raise JobFailed(report.message or "the worker gave no reason", identity=identity)
        return report

    async def cancel(self, identities: set[str]) -> None:
        """Tell the fleet to drop those jobs that no other run waits for; a training stops within seconds."""
        for identity in identities:
            pending = self._pending.get(identity)
            if pending is None or pending.waiters > 0:
                continue
            await self._redis.set(CANCEL.format(identity=identity), "1", ex=3600)
            del self._pending[identity]
            pending.done.cancel()

    async def _send(self, job: TrainJob | ProbeJob | FitJob) -> None:
        await self._redis.delete(CANCEL.format(identity=job.identity()))
        payload = job.model_dump(mode="json")
        await asyncio.to_thread(
            self._celery.send_task, f"leakrange.{job.kind}", args=[payload], queue=job.kind
        )

    async def _newest(self) -> str:
        entries = await self._redis.xrevrange(REPORTS, count=1)
        return str(entries[0][0]) if entries else "0-0"

    async def _listen(self, position: str) -> None:
        while True:
            try:
                answer = await self._redis.xread({REPORTS: position}, count=500, block=1000)
            except RedisError as error:
                log.warning("report stream unreachable", error=str(error))
                await asyncio.sleep(1.0)
                continue
            streams = cast("list[tuple[str, list[tuple[str, dict[str, str]]]]]", answer or [])
            for _stream, entries in streams:
                for entry, fields in entries:
                    position = entry
                    try:
                        self._take(JobReport.model_validate_json(fields["json"]))
                    except (ValidationError, KeyError) as error:
                        log.error("unreadable report", entry=entry, error=str(error))

    def _take(self, report: JobReport) -> None:
        pending = self._pending.get(report.identity)
        if pending is None:
            return
        pending.started = True
        for watcher in pending.watchers:
            watcher(report)
        if report.state in ("done", "failed"):
            del self._pending[report.identity]
            if not pending.done.done():
                pending.done.set_result(report)

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(REAP_EVERY)
            started = [(name, pending) for name, pending in self._pending.items() if pending.started]
            if not started:
                continue
            try:
                leases = await self._redis.mget([LEASE.format(identity=name) for name, _ in started])
                for (name, pending), lease in zip(started, leases, strict=True):
                    if lease is not None:
                        pending.orphaned_at = None
                    elif pending.orphaned_at is None:
                        pending.orphaned_at = time.monotonic()
                    elif time.monotonic() - pending.orphaned_at >= ORPHANED_AFTER and name in self._pending:
                        log.warning("sending an orphaned job again", identity=name, kind=pending.job.kind)
                        pending.started, pending.orphaned_at = False, None
                        await self._send(pending.job)
            except (RedisError, OSError) as error:
                log.warning("cannot look for orphaned jobs", error=str(error))
