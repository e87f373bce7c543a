"""The Celery application: its settings, and the fleet's tasks on it.

A message leaves its queue for good when a worker takes it, and a worker takes one only when it has nothing
else to do. What is lost with a worker is sent again by the controller (`leakrange.jobs.job`). Results are
files and news go to a stream, so there is no result backend.
"""

from __future__ import annotations

import socket
from typing import Any

import redis
import structlog
from celery import Celery, Task, bootsteps
from kombu.entity import Exchange, Queue
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from services.attacker.audit import audit
from services.attacker.execution import Execution
from services.attacker.fit import fit
from services.attacker.liveness import ALIVE, ALIVE_SECONDS
from services.attacker.probe import probe
from services.attacker.settings import FleetSettings
from services.attacker.task import FleetTask
from services.attacker.training import train

TASKS: tuple[FleetTask, ...] = (probe, fit, train, audit)
KILLED_AFTER = 30.0
"""Seconds from the exception that ends a task which takes too long to the signal that ends its process."""

log = structlog.get_logger("leakrange.attacker")


def create_celery(settings: FleetSettings) -> Celery:
    """The application with its tasks, each on the queue of its kind."""
    app = Celery("leakrange", broker=settings.redis_url, set_as_current=False)
    queues = [Queue(task.kind, Exchange(task.kind), task.kind, no_ack=True) for task in TASKS]  # type: ignore[no-untyped-call]
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_queues=queues,
        worker_disable_prefetch=True,
        broker_transport_options={"socket_keepalive": True},
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        worker_hijack_root_logger=False,
    )
    # It tries again for a few seconds. It connects when it is first used, so it may be made before a fork.
    client = redis.Redis.from_url(
        settings.redis_url,
        socket_timeout=5.0,
        socket_connect_timeout=5.0,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), 6),
    )
    app.steps["worker"].add(_alive(client))
    execution = Execution(settings, client)
    for task in TASKS:
        _register(app, task, execution)
    return app


def _register(app: Celery, task: FleetTask, execution: Execution) -> None:
    @app.task(  # type: ignore[untyped-decorator]
        name=task.name,
        bind=True,
        soft_time_limit=task.seconds,
        time_limit=task.seconds + KILLED_AFTER,
    )
    def deliver(self: Task, identity: str) -> None:
        execution.handle(task, identity, worker=self.request.hostname or "unknown")


def _alive(client: redis.Redis) -> type[bootsteps.StartStopStep]:
    """A part of a worker's main process that reports every second, in its event loop, that it is alive: if
    the loop hangs, the worker is silent."""

    def report() -> None:
        try:
            client.set(ALIVE.format(host=socket.gethostname()), "1", ex=ALIVE_SECONDS)
        except redis.RedisError as error:
            log.warning("cannot report that the worker is alive", error=str(error))

    class Alive(bootsteps.StartStopStep):  # type: ignore[misc]
        requires = ("celery.worker.components:Timer",)

        def start(self, worker: Any) -> None:
            worker.timer.call_repeatedly(1.0, report)

    return Alive
