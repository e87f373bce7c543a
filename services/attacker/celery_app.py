"""The Celery application: its settings, and the fleet's tasks on it.

A worker takes a message only when it has nothing else to do. Redis forgets a message that is taken; RabbitMQ
keeps it until the job is over, and delivers it again if the worker is gone. Either way the controller sends
lost jobs again (`leakrange.jobs.orders`). Results are files and news go to a stream, so there is no result
backend.
"""

from __future__ import annotations

import socket
from typing import Any

import redis
import structlog
from celery import Celery, Task, bootsteps
from kombu.entity import Exchange, Queue
from pydantic import SecretStr
from redis.backoff import ExponentialBackoff
from redis.retry import Retry
from structlog.contextvars import bound_contextvars

from leakrange import tracing
from leakrange.service.broker import speaks_amqp
from leakrange.services.attacker.execution import Execution
from leakrange.services.attacker.liveness import ALIVE, ALIVE_SECONDS
from leakrange.services.attacker.metrics import JobMetrics
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.attacker.task import FleetTask, tasks

KILLED_AFTER = 30.0
"""Seconds between the exception that ends a task that takes too long and the signal that ends its process."""
REDIS_DELIVERY: dict[str, Any] = {
    "worker_disable_prefetch": True,
    "broker_transport_options": {"socket_keepalive": True},
}
AMQP_DELIVERY: dict[str, Any] = {
    # Acknowledged at the end, one for each process: no message waits at a worker that is busy. RabbitMQ takes
    # back what is not acknowledged within its `consumer_timeout`; a second delivery is dropped for the lease.
    "task_acks_late": True,
    "worker_prefetch_multiplier": 1,
    "broker_heartbeat": 30,
}

log = structlog.get_logger("leakrange.attacker")


def create_celery(settings: FleetSettings) -> Celery:
    """The application with its tasks, each on the queue of its step."""
    broker = settings.broker_url or settings.redis_url
    amqp = speaks_amqp(broker)
    app = Celery("leakrange", broker=broker, set_as_current=False)
    # RabbitMQ would push all messages at once to a worker that need not acknowledge them.
    names = dict.fromkeys(task.step.queue for task in tasks.values())
    queues = [Queue(name, Exchange(name), name, no_ack=not amqp) for name in names]  # type: ignore[no-untyped-call]
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_queues=queues,
        **(AMQP_DELIVERY if amqp else REDIS_DELIVERY),
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
    metrics = None
    if settings.metrics_port is not None:
        metrics = JobMetrics()
        app.steps["worker"].add(
            _metrics_server(metrics, settings.host, settings.metrics_port, settings.metrics_key)
        )
    execution = Execution(settings, client, metrics)
    for task in tasks.values():
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
        request = self.request
        with (
            bound_contextvars(run=request.get("run") or "", identity=identity, kind=task.step.name),
            tracing.received(
                f"{task.step.name} at work", request.get(tracing.TRACEPARENT), "consumer", identity=identity
            ),
        ):
            execution.handle(task, identity, worker=request.hostname or "unknown")


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


def _metrics_server(
    metrics: JobMetrics, host: str, port: int, key: SecretStr | None
) -> type[bootsteps.StartStopStep]:
    """The part of a worker's main process that serves its metrics at a port."""

    class MetricsServer(bootsteps.StartStopStep):  # type: ignore[misc]
        def start(self, _worker: Any) -> None:
            metrics.serve(host, port, key)

    return MetricsServer
