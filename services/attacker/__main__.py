"""A worker of the fleet: ``python -m leakrange.services.attacker --queues probe,fit --concurrency 2``."""

from __future__ import annotations

import argparse
import logging
import os
import socket

from celery.signals import setup_logging, worker_process_shutdown

from leakrange import tracing
from leakrange.service.logs import configure_logs
from leakrange.service.settings import read_settings
from leakrange.service.traces import configure_traces
from leakrange.services.attacker.celery_app import create_celery
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.attacker.task import tasks

QUEUES = tuple(dict.fromkeys(task.step.queue for task in tasks.values()))


def main() -> None:
    """Run a worker until SIGTERM or SIGINT, which let it finish the jobs at hand."""
    options = _options()
    settings = read_settings(FleetSettings, "worker")
    # Set before any import that counts cores: jobs share them, and OpenMP's threads do not survive a fork.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.umask(0o077)  # answers to probes are private

    def logs(**_: object) -> None:
        configure_logs("attacker", settings.log_level)
        # Celery's debug messages show jobs, and so API keys; its info messages are two for every job.
        for name, least in (("celery", logging.INFO), ("kombu", logging.INFO), ("amqp", logging.INFO)):
            logging.getLogger(name).setLevel(max(least, logging.getLogger().level))
        for name in ("celery.worker.strategy", "celery.app.trace"):
            logging.getLogger(name).setLevel(logging.WARNING)

    setup_logging.connect(logs, weak=False)
    configure_traces("attacker", settings.traces)
    worker_process_shutdown.connect(lambda **_: tracing.flush(), weak=False)
    create_celery(settings).worker_main(
        [
            "--quiet",
            "worker",
            f"--queues={options.queues}",
            f"--concurrency={options.concurrency}",
            f"--hostname={options.queues.replace(',', '-')}-{os.getpid()}@{socket.gethostname()}",
            "--pool=prefork",
            "--without-gossip",
            "--without-mingle",
            *(["--task-events"] if settings.task_events else ["--without-heartbeat"]),
        ]
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m leakrange.services.attacker", description=__doc__)
    parser.add_argument(
        "--queues", default="probe,fit,audit", help=f"some of {','.join(QUEUES)} (default: %(default)s)"
    )
    parser.add_argument("--concurrency", type=int, default=2, help="jobs at a time (default: %(default)s)")
    options = parser.parse_args()
    unknown = sorted(set(options.queues.split(",")) - set(QUEUES))
    if unknown:
        parser.error(f"no queue {', '.join(unknown)!r}; there are {', '.join(QUEUES)}")
    if options.concurrency < 1:
        parser.error("--concurrency must be 1 or more")
    return options


if __name__ == "__main__":
    main()
