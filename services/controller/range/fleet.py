"""Sends jobs to the Celery fleet and receives its reports.

Jobs are idempotent by identity, so the controller may send one again whenever in doubt: after its own
restart, and when nobody has the job's lease although a worker had begun it (the worker died) or it is in no
queue (its message was lost). Nothing else looks for lost jobs.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

import redis.asyncio as aioredis
import structlog
from kombu.exceptions import OperationalError
from prometheus_client import CollectorRegistry
from pydantic import ValidationError
from redis.exceptions import RedisError

from leakrange import tracing
from leakrange.jobs.orders import CANCEL, LEASE, ORDER, REPORTS, JobReport, Order
from leakrange.jobs.step import Job, steps
from leakrange.services.controller.range.fleet_metrics import FleetMetrics
from leakrange.services.controller.range.queues import Queues
from leakrange.wire.errors import LeakrangeError, Unavailable

log = structlog.get_logger("leakrange.services.controller.fleet")
LOOK_EVERY = 1.0
LOST_AFTER = 2.0
"""Seconds without a lease before a job is sent again: its last report may still be on its way."""
MOST_DEATHS = 5
"""A job that this many workers have died of is not given to another."""
ORDER_SECONDS = 86_400
"""The time for which an order that no worker ends is kept."""
SENT_TOGETHER = 100
"""The number of jobs that are sent at a time."""
SEND_FOR = 30.0
"""Seconds for which a broker that does not answer is tried: a restart takes a few."""

OnReport = Callable[[JobReport], None]


class FleetJobFailed(LeakrangeError):
    """A job of the fleet failed permanently; ``detail`` is the worker's own message, ``said`` among
    ``extra`` the data of its report."""

    slug, title = "job-failed", "A job of the fleet failed"


@dataclass(eq=False)
class _Pending:
    identity: str
    order: Order
    done: asyncio.Future[JobReport]
    headers: dict[str, str]
    """The headers of each message about it."""
    watchers: list[OnReport] = field(default_factory=list)
    waiters: int = 0
    sending: asyncio.Task[None] | None = None
    begun: bool = False
    """Whether a worker has it: it was reported on, or its lease was seen."""
    silent_since: float | None = None
    since: float = field(default_factory=time.monotonic)
    deaths: int = 0
    """The number of workers that have begun it and lost its lease."""


_Outgoing = tuple[_Pending, "asyncio.Future[None]"]


class Fleet:
    """Sends jobs, waits for them, and sends them again when their worker died. One per controller.

    ``broker_url`` is the URL of another broker than Redis, which keeps orders, leases and reports.
    """

    def __init__(
        self, redis_url: str, broker_url: str = "", registry: CollectorRegistry | None = None
    ) -> None:
        self._metrics = FleetMetrics(registry)
        self._redis = aioredis.Redis.from_url(redis_url, decode_responses=True)
        self._queues = Queues(self._redis, redis_url, broker_url)
        self._pending: dict[str, _Pending] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._outgoing: list[_Outgoing] = []
        self._sender: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start to listen for reports. Older reports are not needed, since every job in doubt is sent
        again."""
        position = await self._newest()
        self._loops = [
            asyncio.create_task(self._listen(position)),
            asyncio.create_task(self._look_after_jobs()),
        ]

    async def stop(self) -> None:
        """Stop listening. Jobs in progress continue in the fleet."""
        tasks = [*self._loops, *(each.sending for each in self._pending.values() if each.sending is not None)]
        tasks += [self._sender] if self._sender is not None else []
        waiting = set(tasks)
        while waiting:  # a cancellation that comes together with the Redis client's own timeout is lost in it
            for task in waiting:
                task.cancel()
            _, waiting = await asyncio.wait(waiting, timeout=1.0)
        await asyncio.gather(*tasks, return_exceptions=True)
        for pending in self._pending.values():
            pending.done.cancel()
        await self._queues.close()
        await self._redis.aclose()

    async def ping(self) -> None:
        """Raise an error if Redis does not answer."""
        try:
            await self._redis.ping()
        except RedisError as error:
            raise OSError(f"Redis does not answer: {error}") from error

    async def ping_broker(self) -> None:
        """Raise an error if another broker than Redis does not answer."""
        await self._queues.ping()

    def pending(self) -> Counter[str]:
        """How many jobs wait or run, by kind."""
        return Counter(each.order.job.kind for each in self._pending.values())

    async def waiting(self) -> dict[str, int]:
        """How many messages wait in each queue. Raises `OSError` where the broker does not answer."""
        try:
            return await self._queues.waiting({step.queue for step in steps.values() if step.job is not None})
        except RedisError as error:
            raise OSError(f"Redis does not answer: {error}") from error

    async def run(
        self,
        job: Job,
        watch: OnReport | None = None,
        *,
        run: str = "",
        before_sending: Callable[[], Awaitable[None]] | None = None,
    ) -> JobReport:
        """Have the fleet do ``job`` and wait for its end; callers with the same identity share one job.

        ``watch`` is called with every report. ``before_sending`` is awaited if this call sends the job, and
        not if another caller already had. Workers log the ``run`` of the first caller, whose trace goes on in
        theirs. Raises `FleetJobFailed`, or `Unavailable` where the broker stays unreachable. Cancelling the
        caller leaves the job in the fleet; see `cancel`.
        """
        identity = job.identity()
        pending = self._pending.get(identity)
        if pending is None:
            headers = {"run": run, **tracing.carried()}
            done = asyncio.get_running_loop().create_future()
            pending = _Pending(identity, Order(job=job), done, headers)
            pending.done.add_done_callback(_seen)
            self._pending[identity] = pending
            # A task of its own: the caller may be cancelled while others wait for the same job.
            pending.sending = asyncio.create_task(self._begin(pending, before_sending))
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
            reason = report.message or "the worker gave no reason"
            raise FleetJobFailed(reason, identity=identity, said=report.data)
        return report

    async def cancel(self, identities: set[str]) -> None:
        """Tell the fleet to drop those jobs that no caller waits for; a training stops within seconds."""
        for identity in identities:
            pending = self._pending.get(identity)
            if pending is None or pending.waiters > 0:
                continue
            del self._pending[identity]
            pending.done.cancel()
            if pending.sending is not None:
                pending.sending.cancel()
            try:
                await self._redis.set(CANCEL.format(identity=identity), "1", ex=3600)
            except RedisError as error:
                log.warning("a job could not be cancelled", identity=identity, error=str(error))

    # --- sending -------------------------------------------------------------------------------------

    async def _begin(self, pending: _Pending, before: Callable[[], Awaitable[None]] | None) -> None:
        try:
            if before is not None:
                await before()
            if not pending.done.done():
                await self._send(pending)
        except Exception as error:
            # Any error is the callers'; without this they would wait for ever.
            if self._pending.get(pending.identity) is pending:
                del self._pending[pending.identity]
            if not pending.done.done():
                pending.done.set_exception(error)

    def _send_again(self, pending: _Pending, after: float = 0.0) -> None:
        before = pending.sending

        async def pause() -> None:
            if before is not None:
                await asyncio.wait([before])
            await asyncio.sleep(after)

        pending.begun, pending.silent_since = False, None
        pending.sending = asyncio.create_task(self._begin(pending, pause))

    async def _send(self, pending: _Pending) -> None:
        """Send a job, together with all others that wait to be sent."""
        sent = asyncio.get_running_loop().create_future()
        self._outgoing.append((pending, sent))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all())
        await asyncio.shield(sent)

    async def _send_all(self) -> None:
        since = time.monotonic()
        while self._outgoing:
            batch = self._outgoing[:SENT_TOGETHER]
            wanted = [each for each, _ in batch if self._pending.get(each.identity) is each]  # not cancelled
            try:
                pipe = self._redis.pipeline(transaction=False)
                if wanted:  # in one command, since each reply costs as much as the next
                    pipe.delete(*(CANCEL.format(identity=each.identity) for each in wanted))
                for each in wanted:
                    order = each.order.model_dump_json()
                    pipe.set(ORDER.format(identity=each.identity), order, ex=ORDER_SECONDS)
                await pipe.execute()
                await self._queues.send(
                    [(steps[each.order.job.kind], each.identity, each.headers) for each in wanted]
                )
            except (RedisError, OperationalError, OSError) as error:
                runs = sorted({each.headers["run"] for each in wanted})
                log.warning("broker unreachable", runs=runs, error=str(error))
                if time.monotonic() < since + SEND_FOR:
                    await asyncio.sleep(1.0)
                    continue
                name = "Redis" if isinstance(error, RedisError) else self._queues.name
                _end(batch, Unavailable(f"the fleet's broker ({name}) does not answer: {error}"))
            except Exception as error:  # whatever it is, those who wait must learn of it
                _end(batch, error)
            else:
                _end(batch, None)
            del self._outgoing[: len(batch)]
            since = time.monotonic()

    # --- reports -------------------------------------------------------------------------------------

    async def _newest(self) -> str:
        entries = await self._redis.xrevrange(REPORTS, count=1)
        return str(entries[0][0]) if entries else "0-0"

    async def _still(self, position: str) -> str:
        """The place to read on from; the beginning, if another stream has taken the place of the one that was
        read: Redis lost its data, and its clock, which numbers the entries, went back."""
        return "0-0" if _number(await self._newest()) < _number(position) else position

    async def _listen(self, position: str) -> None:
        interrupted = False
        while True:
            try:
                if interrupted:
                    position, interrupted = await self._still(position), False
                answer = await self._redis.xread({REPORTS: position}, count=500, block=1000)
            except (RedisError, OSError) as error:
                log.warning("report stream unreachable", error=str(error))
                interrupted = True
                await asyncio.sleep(1.0)
                continue
            streams = cast("list[tuple[str, list[tuple[str, dict[str, str]]]]]", answer or [])
            for _stream, entries in streams:
                for entry, fields in entries:
                    position = entry
                    try:
                        report = JobReport.model_validate_json(fields["json"])
                    except (ValidationError, KeyError) as error:
                        log.error("unreadable report", entry=entry, error=str(error))
                        continue
                    self._take(report)

    def _take(self, report: JobReport) -> None:
        pending = self._pending.get(report.identity)
        if pending is None:
            return
        pending.begun = True
        if report.state != "progress":
            self._metrics.reports.labels(report.kind, report.state).inc()
        if report.state == "failed" and report.message == "cancelled":
            # Nobody cancelled what is still pending: it was another run, before this one asked.
            self._send_again(pending)
            return
        if report.state == "postponed":
            again = report.data
            pending.order = Order(job=pending.order.job, attempt=again["attempt"], until=again.get("until"))
            self._send_again(pending, after=again["seconds"])
            return
        for watcher in list(pending.watchers):
            watcher(report)
        if report.state in ("done", "failed"):
            del self._pending[report.identity]
            self._metrics.seconds.labels(report.kind).observe(time.monotonic() - pending.since)
            if not pending.done.done():
                pending.done.set_result(report)

    # --- jobs that nobody works on any more ------------------------------------------------------------

    async def _look_after_jobs(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self._look()
            except (RedisError, OSError) as error:
                log.warning("cannot look for lost jobs", error=str(error))

    async def _look(self) -> None:
        sent = [each for each in self._pending.values() if each.sending is not None and each.sending.done()]
        if not sent:
            return
        leases = await self._redis.mget([LEASE.format(identity=each.identity) for each in sent])
        waiting = await self._queues.waiting({_queue(each) for each in sent})
        now = time.monotonic()
        for pending, lease in zip(sent, leases, strict=True):
            if self._pending.get(pending.identity) is not pending:
                continue  # it came to its end meanwhile
            if lease is not None:
                pending.begun = True
            if lease is not None or (not pending.begun and waiting[_queue(pending)]):
                pending.silent_since = None
            elif pending.silent_since is None:
                pending.silent_since = now
            elif now - pending.silent_since >= LOST_AFTER:
                self._lost(pending)

    def _lost(self, pending: _Pending) -> None:
        self._metrics.lost.labels(pending.order.job.kind).inc()
        if pending.begun:
            pending.deaths += 1
        if pending.deaths < MOST_DEATHS:
            log.warning(
                "sending a job again",
                run=pending.headers["run"],
                identity=pending.identity,
                deaths=pending.deaths,
            )
            self._send_again(pending)
            return
        del self._pending[pending.identity]
        reason = (
            f"given up: {pending.deaths} workers died of it, maybe for want of memory; give the workers more,"
            " start them with a smaller --concurrency, or take a smaller 'chunk' in the scenario, and run it"
            " again"
        )
        pending.done.set_exception(FleetJobFailed(reason, identity=pending.identity))


def _end(sent: list[_Outgoing], error: Exception | None) -> None:
    for _, future in sent:
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _queue(pending: _Pending) -> str:
    return steps[pending.order.job.kind].queue


def _number(entry: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entry.split("-"))


def _seen(done: asyncio.Future[JobReport]) -> None:
    """Read a future's error, so that asyncio does not warn about it when no caller is left."""
    if not done.cancelled():
        done.exception()
