"""What a worker's main process does every second: report that it is alive, and send orphaned jobs again.

An orphan is a job that has lost its worker, or whose pause after a failure is over. Every worker looks for
them, so the fleet recovers within a lease's time and a second, even if neither the controller nor the
broker notices.
"""

from __future__ import annotations

import socket
from typing import Any

import redis
import structlog
from celery import Celery, bootsteps
from kombu.exceptions import OperationalError

from services.attacker.lease import Leases
from services.attacker.liveness import ALIVE, ALIVE_SECONDS

__all__ = ["sweep"]

SWEEP_SECONDS = 1.0

log = structlog.get_logger("leakrange.attacker")


def sweep(client: redis.Redis, leases: Leases) -> type[bootsteps.StartStopStep]:
    """A part of a Celery worker that sweeps every second, in its event loop: if that hangs, it is
    silent."""

    class Sweep(bootsteps.StartStopStep):  # type: ignore[misc]
        requires = ("celery.worker.components:Timer",)

        def start(self, worker: Any) -> None:
            worker.timer.call_repeatedly(SWEEP_SECONDS, _sweep, (worker.app, client, leases))

    return Sweep


def _sweep(app: Celery, client: redis.Redis, leases: Leases) -> None:
    try:
        client.set(ALIVE.format(host=socket.gethostname()), "1", px=round(ALIVE_SECONDS * 1000))
        for identity, entry, message in leases.orphans():
            log.info("sending again", identity=identity, task=message.task, attempt=message.attempt)
            app.send_task(
                message.task,
                args=[message.payload],
                kwargs={"attempt": message.attempt, "until": message.until},
                queue=message.queue,
                task_id=message.id,
            )
            leases.sent(identity, entry)
    except (redis.RedisError, OperationalError) as error:
        log.warning("a sweep failed", error=str(error))
