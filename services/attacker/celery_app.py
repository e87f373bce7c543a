"""The Celery application: its settings, and the fleet's tasks on it.

The broker settings were measured: with acknowledgement after the work, one message at a time, and an eager
sweep for messages that nobody acknowledged, a killed worker's task is with another within the visibility
timeout and a second, or twice that where it was killed while it swept. Results are files and news go to a
stream, so there is no result backend.
"""

from __future__ import annotations

from typing import Any

import redis
from celery import Celery, Task
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from services.attacker.execution import Execution
from services.attacker.fit import fit
from services.attacker.lease import Leases, Message
from services.attacker.probe import probe
from services.attacker.settings import FleetSettings
from services.attacker.sweep import sweep
from services.attacker.task import FleetTask
from services.attacker.training import train

__all__ = ["TASKS", "connect", "create_celery"]

TASKS: tuple[FleetTask[Any], ...] = (probe, fit, train)
KILLED_AFTER = 30.0
"""Seconds from the exception that ends a task which takes too long to the signal that ends its process."""


def connect(settings: FleetSettings) -> redis.Redis:
    """A client that tries again for a few seconds; it connects when it is first used, so it may be made
    before a fork."""
    return redis.Redis.from_url(
        settings.redis_url,
        socket_timeout=5.0,
        socket_connect_timeout=5.0,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), 6),
    )


def create_celery(settings: FleetSettings) -> Celery:
    """The application with its three tasks, each on the queue of its kind."""
    app = Celery("leakrange", broker=settings.redis_url, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        result_serializer="json",
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        broker_transport_options={
            "visibility_timeout": settings.visibility_timeout,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            # A worker that is killed while it sweeps keeps all others from sweeping for so long.
            "unacked_mutex_expire": settings.visibility_timeout,
            "socket_keepalive": True,
        },
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        task_routes={task.name: {"queue": task.kind} for task in TASKS},
        worker_hijack_root_logger=False,
    )
    client = connect(settings)
    leases = Leases(client, settings.lease_seconds)
    execution = Execution(settings, client, leases)
    app.steps["worker"].add(sweep(client, leases))
    for task in TASKS:
        _register(app, task, execution)
    return app


def _register(app: Celery, task: FleetTask[Any], execution: Execution) -> None:
    @app.task(  # type: ignore[untyped-decorator]
        name=task.name,
        bind=True,
        soft_time_limit=task.seconds,
        time_limit=task.seconds + KILLED_AFTER,
    )
    def deliver(self: Task, payload: dict[str, Any], attempt: int = 0, until: float | None = None) -> None:
        """``payload`` is all that a sender gives; the others come with jobs that are sent again."""
        message = Message(self.request.id, task.name, task.kind, payload, attempt, until)
        execution.handle(task, message, worker=self.request.hostname or "unknown")
